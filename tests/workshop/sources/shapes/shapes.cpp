#include <string>
#include <vector>

namespace house::rooms {

template <typename T>
class Shape {
public:
  Shape() : first_() {}
  explicit Shape(T first);
  Shape(const Shape& other) = default;
  virtual ~Shape() { clear(); }

  T& operator[](int at) { return items_[at]; }
  const T& operator[](int at) const { return items_[at]; }
  bool operator<(const Shape& other) const { return size() < other.size(); }
  int operator()(int by) const { return by; }
  explicit operator bool() const { return size() > 0; }
  Shape* operator->() { return this; }

  int size() const { return static_cast<int>(items_.size()); }
  int area(int side) { return side * side; }
  int area(int width, int height) { return width * height; }
  static Shape make() { return Shape(); }

  struct Corner {
    Corner(int x, int y) : x(x), y(y) {}
    int sum() const { return x + y; }
    int x, y;
  };

private:
  void clear() { items_.clear(); }
  T first_;
  std::vector<T> items_;
};

template <typename T>
Shape<T>::Shape(T first) : first_(first) {
  items_.push_back(first);
}

template <>
int Shape<int>::size() const {
  return 7;
}

class Room {
public:
  Room(std::string name);
  ~Room();
  int doors(int most) const;
  int doors(const std::string& wall) const;
  friend bool operator==(const Room& one, const Room& other) { return one.name_ == other.name_; }

private:
  std::string name_;
};

Room::Room(std::string name) : name_(std::move(name)) {
  // as it is
}

Room::~Room() {}

int Room::doors(int most) const {
  return most;
}

int Room::doors(const std::string& wall) const {
  return wall.size();
}

namespace {
int hidden(int it) noexcept { return it; }
}

template <typename T, typename U>
auto most(T one, U other) -> decltype(one + other) {
  return one > other ? one : other;
}

}  // namespace house::rooms

std::string house::rooms_of(int most) {
  return "rooms";
}
