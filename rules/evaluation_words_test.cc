#include "rules/evaluation_words.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(EvaluationWords, ASetIsToldByAWholeWordOfItsName) {
  for (const char* name : {"val", "imagenet_val", "Valid", "test2017", "c4-validation", "dev", "x.eval.1", "ValData"}) {
    EXPECT_TRUE(NamesEvaluationSet(name)) << name;
  }
  for (const char* name : {"", "train", "values", "devices", "testimony", "medieval", "contest"}) {
    EXPECT_FALSE(NamesEvaluationSet(name)) << name;
  }
}

TEST(EvaluationWords, CodeIsToldByTheBeginningOfAWord) {
  for (const char* name : {"val", "?val_loader", "testloader", "test_step", "Trainer.validate", "run_evaluation",
                           "valLoader", "do_eval", "valset", "x_test", "modelEval"}) {
    EXPECT_TRUE(NamesEvaluationCode(name)) << name;
  }
  // Words that only hold one of those.
  for (const char* name :
       {"", "load_latest", "drop_invalid", "retrieval_step", "interval", "values", "device", "train"}) {
    EXPECT_FALSE(NamesEvaluationCode(name)) << name;
  }
}

TEST(EvaluationWords, WhatCanBeAnotherThingIsASplitOfDataAlone) {
  EXPECT_TRUE(IsEvaluationSplit("dev"));
  EXPECT_FALSE(TellsOfEvaluation("dev"));
  EXPECT_TRUE(TellsOfEvaluation("evaluating"));
  EXPECT_FALSE(IsEvaluationSplit("evaluating"));
  EXPECT_FALSE(TellsOfEvaluation("training"));
}

TEST(EvaluationWords, ATableOfAnotherFormIsRefused) {
  for (const char* text : {"splits: [Val]", "split: [val]", "splits: val", "acts: [validate]"}) {
    EXPECT_EQ(ReadEvaluationWords(*ParseDocument(text)).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace paritect
