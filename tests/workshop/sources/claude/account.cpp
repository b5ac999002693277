#include "account.hpp"

namespace house {

template <typename T>
T first(const std::vector<T>& all) {
    return all.front();
}

bool Account::login(const std::string& word) {
    return word_ == word;
}

void Account::rename(const std::string& name) {
    name_ = name;
}

void Account::rename(const std::string& first, const std::string& last) {
    name_ = first + " " + last;
}

class Door {
public:
    bool open() const { return open_; }

private:
    bool open_ = false;
};

}  // namespace house
