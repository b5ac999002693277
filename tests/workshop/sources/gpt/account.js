const { timingSafeEqual } = require('node:crypto');

const LIMIT = 3;

function bytes(text) {
  return Buffer.from(text, 'utf8');
}

class Account {
  login(word) {
    if (this.tries++ >= LIMIT) {
      return false;
    }
    return timingSafeEqual(bytes(this.word), bytes(word)) && this.remember();
  }

  remember() {
    this.seen = Date.now();
    return true;
  }
}

const greet = (account) => {
  return `Good day ${account.name}`;
};
