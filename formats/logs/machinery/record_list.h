// Records in blocks: adding one never moves the others, and what was handed on is given back block by block.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_RECORD_LIST_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_RECORD_LIST_H_

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace paritect {

template <typename T>
class RecordList {
 public:
  T& operator[](std::size_t i) { return (*blocks_[i / kBlock])[i % kBlock]; }
  const T& operator[](std::size_t i) const { return (*blocks_[i / kBlock])[i % kBlock]; }
  T& back() { return (*this)[size_ - 1]; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  void push_back(T value) {
    // make_unique would write zeros first.
    if (size_ == blocks_.size() * kBlock) blocks_.push_back(std::unique_ptr<Block>(new Block));
    (*this)[size_++] = std::move(value);
  }

  // Drops what stands from `size` on.
  void Shrink(std::size_t size) {
    for (std::size_t i = size; i < size_; ++i) (*this)[i] = T();
    size_ = size;
    blocks_.resize((size + kBlock - 1) / kBlock);
  }

  // Calls `visit` for each record in order; each is gone afterwards.
  template <typename Visit>
  void Consume(Visit visit) {
    for (std::size_t i = 0; i < size_; ++i) {
      visit(i, (*this)[i]);
      if (i % kBlock == kBlock - 1) blocks_[i / kBlock] = nullptr;
    }
    size_ = 0;
    blocks_.clear();
  }

  template <typename List, typename Value>
  class Iterator {
   public:
    Iterator(List* list, std::size_t at) : list_(list), at_(at) {}
    Value& operator*() const { return (*list_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    List* list_;
    std::size_t at_;
  };
  auto begin() { return Iterator<RecordList, T>(this, 0); }
  auto end() { return Iterator<RecordList, T>(this, size_); }
  auto begin() const { return Iterator<const RecordList, const T>(this, 0); }
  auto end() const { return Iterator<const RecordList, const T>(this, size_); }

 private:
  static constexpr std::size_t kBlock = 256;
  using Block = std::array<T, kBlock>;

  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_RECORD_LIST_H_
