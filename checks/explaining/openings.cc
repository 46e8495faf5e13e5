#include "checks/explaining/openings.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rules/message_pattern.h"

namespace paritect {
namespace {

using Pieces = std::set<std::size_t>;  // any of them answers a missing entry

// The steps that can be taken, and which of them answers what.
class Steps {
 public:
  Steps(const Messages& messages, const std::vector<Opening>& openings) : openings_(openings) {
    for (const Opening& opening : openings) {
      actions_.push_back(opening.action);
      std::vector<MessagePattern>& patterns = patterns_.emplace_back();
      for (const AnsweredMessage& answer : opening.answers) AddPatterns(messages, answer, patterns);
    }
  }

  // nullptr: nobody can bring it. Texts repeat from check to check: each is looked up once.
  const Pieces* Answering(const v1::Missing& missing) {
    const auto [it, is_new] = known_.try_emplace({missing.what().en(), missing.how().en()}, Pieces{});
    if (is_new) it->second = LookUp(missing);
    return it->second.empty() ? nullptr : &it->second;
  }

  std::size_t size() const { return actions_.size(); }
  const v1::Text& action(std::size_t step) const { return actions_[step]; }
  std::string id(std::size_t step) const { return step < openings_.size() ? openings_[step].id : ""; }

 private:
  static void AddPatterns(const Messages& messages, const AnsweredMessage& answer,
                          std::vector<MessagePattern>& patterns) {
    for (auto it = messages.all().lower_bound(answer.id); it != messages.all().end(); ++it) {
      if (answer.prefix ? !absl::StartsWith(it->first, answer.id) : it->first != answer.id) break;
      patterns.emplace_back(messages, it->first, answer.args);
    }
  }

  Pieces LookUp(const v1::Missing& missing) {
    Pieces pieces;
    for (std::size_t i = 0; i < openings_.size(); ++i) {
      const bool answers = std::any_of(patterns_[i].begin(), patterns_[i].end(), [&](const MessagePattern& pattern) {
        return pattern.Matches(missing.what().en(), missing.how().en());
      });
      if (answers && openings_[i].never) return {};
      if (answers) pieces.insert(i);
    }
    if (pieces.empty()) pieces.insert(StepOfItsOwn(missing.how().en().empty() ? missing.what() : missing.how()));
    return pieces;
  }

  std::size_t StepOfItsOwn(const v1::Text& action) {
    const auto [it, is_new] = own_.try_emplace(action.en(), actions_.size());
    if (is_new) actions_.push_back(action);
    return it->second;
  }

  const std::vector<Opening>& openings_;
  std::vector<std::vector<MessagePattern>> patterns_;  // of each opening
  std::vector<v1::Text> actions_;                      // of the openings, then of the steps of their own
  std::map<std::string, std::size_t> own_;
  std::map<std::pair<std::string, std::string>, Pieces> known_;
};

struct OpenCheck {
  const v1::CheckResult* check;
  std::set<Pieces> lacks;  // still unanswered
};

// nullopt: a person answered, or it can never be decided.
std::optional<OpenCheck> Open(Steps& steps, const v1::CheckResult& check) {
  if (check.verdict() != v1::VERDICT_NOT_PERFORMED || check.has_attested()) return std::nullopt;
  OpenCheck open{&check, {}};
  for (const v1::Missing& missing : check.missing()) {
    const Pieces* const pieces = steps.Answering(missing);
    if (pieces == nullptr) return std::nullopt;
    open.lacks.insert(*pieces);
  }
  return open;
}

bool Decides(std::size_t step, const OpenCheck& open) {
  return std::all_of(open.lacks.begin(), open.lacks.end(),
                     [step](const Pieces& pieces) { return pieces.contains(step); });
}

OpenedChecks Take(std::size_t step, const Steps& steps, const std::vector<OpenCheck>& open) {
  OpenedChecks opened{steps.id(step), steps.action(step), {}, 0};
  for (const OpenCheck& one : open) {
    if (!Decides(step, one)) continue;
    opened.checks.push_back(one.check);
    opened.required += one.check->required() ? 1 : 0;
  }
  return opened;
}

// Takes out what the step answers.
void Answer(std::size_t step, std::vector<OpenCheck>& open) {
  for (OpenCheck& one : open) {
    std::erase_if(one.lacks, [step](const Pieces& pieces) { return pieces.contains(step); });
  }
  std::erase_if(open, [](const OpenCheck& one) { return one.lacks.empty(); });
}

}  // namespace

std::vector<OpenedChecks> WhatOpensMost(const Messages& messages, const std::vector<Opening>& openings,
                                        const v1::Report& report) {
  Steps steps(messages, openings);
  std::vector<OpenCheck> open;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      std::optional<OpenCheck> one = Open(steps, check);
      if (one.has_value()) open.push_back(*std::move(one));
    }
  }
  std::vector<OpenedChecks> list;
  while (true) {
    OpenedChecks best;
    std::size_t best_step = 0;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      OpenedChecks one = Take(step, steps, open);
      if (std::pair(one.checks.size(), one.required) <= std::pair(best.checks.size(), best.required)) continue;
      best = std::move(one);
      best_step = step;
    }
    if (best.checks.empty()) return list;
    Answer(best_step, open);
    list.push_back(std::move(best));
  }
}

}  // namespace paritect
