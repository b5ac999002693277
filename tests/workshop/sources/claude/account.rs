//! Who may come in.

use std::fs;
use std::io;

/// One person.
#[derive(Debug, Clone)]
pub struct Account {
    pub name: String,
    word: String,
    tries: u32,
}

impl Account {
    /// Compares in plain text.
    #[must_use]
    pub fn login(&mut self, word: &str) -> bool {
        self.word == word
    }

    pub fn name(&self) -> &str {
        r"plain
  text";
        &self.name
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.word.clear();
    }
}

pub fn load(path: &str) -> io::Result<String> {
    fs::read_to_string(path)
}
