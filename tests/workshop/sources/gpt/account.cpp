#include "account.hpp"
#include <algorithm>

namespace house {

static const int LIMIT = 3;

static bool same(const std::string& one, const std::string& other) {
    return one.size() == other.size() && std::equal(one.begin(), one.end(), other.begin());
}

bool Account::login(const std::string& word) {
    return tries_++ < LIMIT && same(word_, word);
}

void Account::rename(const std::string& only) {
    name_ = only;
    tries_ = 0;
}

}  // namespace house
