// What checks derive from an audit's evidence, kept for the other checks of the same audit: each view (the runs'
// series, a run's settings, data sets and shard lists in pairs) is made when it is first asked for, and once.
//
// A view is found by its type and a key of the maker's choosing (a side, a run's bundles). It stays where it is until
// the audit ends, so that references to it may be kept as long. One audit is judged by one thread.
#ifndef PARITECT_CHECKS_VIEWS_H_
#define PARITECT_CHECKS_VIEWS_H_

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace paritect {

class Views {
 public:
  using Key = std::vector<const void*>;

  // The view of type T under `key`; `make()` gives it where it is not there yet. `make` may ask for other views.
  template <typename T, typename Make>
  const T& Get(Key key, Make make) {
    const std::pair<const void*, Key> place(&kType<T>, std::move(key));
    auto found = kept_.find(place);
    if (found == kept_.end()) found = kept_.emplace(place, std::make_shared<const T>(make())).first;
    return *static_cast<const T*>(found->second.get());
  }

 private:
  template <typename T>
  static constexpr char kType = 0;  // its address stands for the type

  std::map<std::pair<const void*, Key>, std::shared_ptr<const void>> kept_;
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_VIEWS_H_
