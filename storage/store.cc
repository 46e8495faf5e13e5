#include "storage/store.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paritect {

#define PARITECT_STORE(name) extern const StoreBackend k##name##StoreBackend;
#include "storage/all_stores.inc"
#undef PARITECT_STORE

absl::Span<const StoreBackend* const> AllStoreBackends() {
  static constexpr const StoreBackend* kAll[] = {
#define PARITECT_STORE(name) &k##name##StoreBackend,
#include "storage/all_stores.inc"
#undef PARITECT_STORE
  };
  return kAll;
}

absl::StatusOr<std::unique_ptr<Store>> OpenStore(absl::string_view uri) {
  const std::size_t colon = uri.find(':');
  const absl::string_view scheme = uri.substr(0, colon == absl::string_view::npos ? 0 : colon);
  for (const StoreBackend* backend : AllStoreBackends()) {
    if (backend->scheme == scheme) return backend->open(uri.substr(colon + 1));
  }
  const std::string known = absl::StrJoin(AllStoreBackends(), ", ", [](std::string* out, const StoreBackend* one) {
    absl::StrAppend(out, one->scheme, ":");
  });
  return absl::InvalidArgumentError(absl::StrCat("no storage of this kind: '", uri, "'; there are ", known));
}

}  // namespace paritect
