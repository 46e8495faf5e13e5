// evidence.integrity.records: a question about what a server stores; an audit straight from plans or bundles
// (whose own digests are checked when they are read) stores nothing, so it does not arise.
#include "checks/check.h"

namespace paritect {
namespace {

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  AddNote(context, result, "not_applicable/offline", "");
}

}  // namespace

extern const Check kIntegrityRecords;
const Check kIntegrityRecords = {"evidence.integrity.records", {}, &Evaluate};

}  // namespace paritect
