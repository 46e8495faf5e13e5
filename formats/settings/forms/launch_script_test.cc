// Launch scripts: what reaches the training command, and where each value stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/settings/settings_format.h"
#include "formats/settings/shell/shell.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// "key=value@line ..."; "~" before the value of a default; notes as "!kind".
std::string Read(absl::string_view text) {
  const auto documents = ReadSettings(text, "f", "script");
  if (!documents.ok()) return documents.status().ToString();
  std::string out;
  for (const v1::Setting& one : (*documents)[0].settings()) {
    absl::StrAppend(&out, one.raw_key(), "=", one.is_default() ? "~" : "",
                    one.has_value() ? ValueToText(one.value()) : "?", "@", one.origin().substr(2), " ");
  }
  for (const v1::Note& note : (*documents)[0].notes()) absl::StrAppend(&out, "!", note.kind(), " ");
  return out;
}

TEST(LaunchScripts, QuotesWithinASubstitution) {
  for (const char* rank : {"$(awk '{at[$1]=(FNR-1);} END {print at[\"'$NODE_ADDR'\"];}' $HOSTFILE)",
                           "$(grep -n \"$(hostname -I | awk '{print $1}')\" hosts | cut -d: -f1)",
                           "$(echo 'it is (open' | wc -l)", "$(echo \"a ) b\" \\) )", "$(sed 's/\"//g' f)"}) {
    const std::string out = Read(absl::StrCat(
        "#!/bin/bash\nNODE_RANK=", rank, "\nARGS=\"\n --lr 1.0e-4 \\\n\"\ntorchrun --nproc_per_node 8 p.py $ARGS\n"));
    EXPECT_THAT(out, HasSubstr("lr=1e-04@4")) << rank;
  }
  // One that does not end takes the rest of the script with it, and says so.
  EXPECT_THAT(Read("#!/bin/bash\nA=$(echo 'x\ntorchrun p.py --lr 1\n"), HasSubstr("!no_training_command"));
}

TEST(LaunchScripts, EveryValueKnowsItsOwnLine) {
  const std::string out = Read(
      "#!/bin/bash\n"
      "GPT_ARGS=\"\n"
      "  --num-layers 32 \\\n"
      "  --lr 1e-4\n"
      "\"\n"
      "MOE=(\n"
      "  --seed 7  # why\n"
      ")\n"
      "MOE+=( --beta 2 )\n"
      "torchrun --nproc-per-node 8 train.py \\\n"
      "  ${GPT_ARGS} \"${MOE[@]}\" \\\n"
      "  --micro-batch-size 1\n");
  for (const char* one : {"num-layers=32@3 ", "lr=1e-04@4 ", "seed=7@7 ", "beta=2@9 ", "launch.nproc-per-node=8@10 ",
                          "micro-batch-size=1@12 "}) {
    EXPECT_THAT(out, HasSubstr(one));
  }
}

TEST(LaunchScripts, LineEndsOfWindowsChangeNothing) {
  EXPECT_THAT(Read("#!/bin/bash\r\nA=\"--lr 1 \\\r\n --bf16\"\r\ntorchrun train.py $A \\\r\n --seed 2\r\n"),
              HasSubstr("lr=1@2 bf16=true@3 seed=2@5 "));
}

TEST(LaunchScripts, RedirectionsAndPipesAreNoArguments) {
  const std::string plain = "launch.command=python@1 launch.entry=a.py@1 lr=1@1 ";
  // Without the word that the program was started alone.
  const auto arguments = [](std::string read) {
    const std::size_t alone = read.find("launch.alone=");
    if (alone != std::string::npos) read.erase(alone, read.find("@1 ", alone) + 3 - alone);
    return read;
  };
  for (const char* tail : {"> log 2>&1 &", "2>&1 | tee log", "&> log", ">> log 2> err", "< in", "|& tee log", "1>&2",
                           "2> >(tee err)", "<<< text"}) {
    EXPECT_EQ(arguments(Read(absl::StrCat("python a.py --lr 1 ", tail, "\n"))), plain) << tail;
  }
}

TEST(LaunchScripts, DefaultsOfVariablesAreMarked) {
  const std::string out = Read(
      "TP=${TP:-2}\nexport HCCL_ALGO=${HCCL_ALGO:-\"ring\"}\n[ -n \"$1\" ] && MB=4\nB=\nC=${B:-${TP}}\n"
      "torchrun --master_addr ${MASTER_ADDR:-localhost} train.py --tp $TP --mb $MB --c $C --d ${NONE} --e ${A:0:2}\n");
  EXPECT_THAT(out, HasSubstr("env.HCCL_ALGO=~ring@2 "));
  EXPECT_THAT(out, HasSubstr("launch.master_addr=~localhost@6 "));
  EXPECT_THAT(out, HasSubstr("tp=~2@6 mb=~4@6 c=~2@6 d=?@6 e=?@6 "));
}

TEST(LaunchScripts, AMarkCoversItsOwnPartOnly) {
  EXPECT_THAT(Read("A=\"--tp ${TP:-2} --lr 1 --x $OUT --y $(a b) --z 3\"\ntorchrun t.py $A\n"),
              HasSubstr("tp=~2@1 lr=1@1 x=?@1 y=?@1 z=3@1 "));
}

TEST(LaunchScripts, BranchesThatDifferLeaveAValueOpen) {
  EXPECT_THAT(Read("X=1\ncase $1 in\n a) X=2;;\n *) X=3;;\nesac\nY=1\npython a.py --x $X --y $Y\n"),
              HasSubstr("x=?@7 y=1@7 "));
  EXPECT_THAT(Read("if a; then E=\"--s 1\"; else E=\"--s 2\"; fi\ntorchrun a.py $E\n"),
              HasSubstr("!unresolved_arguments"));
}

TEST(LaunchScripts, TheEnvironmentOfTheCommand) {
  EXPECT_THAT(Read("export A=1 B='x y'\ndeclare -x C=3\nD=4\nset -a\nE=5\nF=6 python a.py\n"),
              HasSubstr("env.A=1@1 env.B=x y@1 env.C=3@2 env.E=5@5 env.F=6@6 "));
  EXPECT_THAT(Read("env -u X HCCL_ALGO=ring python3 a.py --lr 1\n"), HasSubstr("env.HCCL_ALGO=ring@1 lr=1@1 "));
  EXPECT_THAT(Read("mpirun -np 16 -x NCCL_ALGO=Ring -x PATH -bind-to none python3 a.py\n"),
              HasSubstr("env.NCCL_ALGO=Ring@1 launch.np=16@1 "));
  EXPECT_THAT(Read("srun -N 2 --export=ALL,A=1 torchrun --nproc_per_node=8 a.py\n"),
              HasSubstr("env.A=1@1 launch.srun.nodes=2@1 "));
  EXPECT_THAT(Read("docker exec c bash -c \"export A=1; torchrun --nproc_per_node 8 t.py --lr 0.1\"\n"),
              HasSubstr("env.A=1@1 launch.nproc_per_node=8@1 lr=0.1@1 "));
}

TEST(LaunchScripts, Launchers) {
  EXPECT_THAT(Read("deepspeed --hostfile hosts --num_gpus 8 t.py --deepspeed ds.json\n"),
              HasSubstr("launch.hostfile=hosts@1 launch.num_gpus=8@1 deepspeed=ds.json@1 "));
  EXPECT_THAT(Read("accelerate launch --config_file c.yaml --num_processes 8 t.py --lr 1\n"),
              HasSubstr("launch.config_file=c.yaml@1 launch.num_processes=8@1 lr=1@1 "));
  EXPECT_THAT(Read("msrun --worker_num=8 --join=True run.py --config x.yaml\n"),
              HasSubstr("launch.worker_num=8@1 launch.join=true@1 config=x.yaml@1 "));
  EXPECT_THAT(Read("#SBATCH --nodes=2\npython -u -m torch.distributed.run --nproc_per_node 8 -m llm.train --lr 1\n"),
              HasSubstr("launch.sbatch.nodes=2@1 "));
  EXPECT_THAT(Read("A=1 python -m llm.train --lr 1\n"), HasSubstr("launch.entry=llm.train@1 env.A=1@1 lr=1@1 "));
}

// MindFormers' own script: the training stands in one word (rules/data/launch_scripts.yaml).
TEST(LaunchScripts, ATrainingInAWordOfAFrameworksScript) {
  const std::string training = " \"run_mindformer.py --config x.yaml --seed 3\" ";
  const std::string read = Read(absl::StrCat("cd scripts\nbash msrun_launcher.sh", training, "4\n"));
  for (const char* part : {"launch.worker_num=4@2 ", "launch.local_worker_num=4@2 ",
                           "launch.entry=run_mindformer.py@2 ", "config=x.yaml@2 ", "seed=3@2 "}) {
    EXPECT_THAT(read, HasSubstr(part));
  }
  EXPECT_THAT(Read(absl::StrCat("nohup bash -x scripts/msrun_launcher.sh", training, "&\n")),
              AllOf(HasSubstr("launch.worker_num=8@1 "), HasSubstr("seed=3@1 ")))
      << "alone it starts eight";
  EXPECT_THAT(Read(absl::StrCat("msrun_launcher.sh", training, "16 8 10.0.0.1 8118 0 log False 300\n")),
              AllOf(HasSubstr("launch.worker_num=16@1 "), HasSubstr("launch.local_worker_num=8@1 ")));
  EXPECT_THAT(Read(absl::StrCat("bash msrun_launcher.sh", training, "16 8 7\n")),
              AllOf(Not(HasSubstr("worker_num")), HasSubstr("seed=3@1 ")))
      << "words that no form tells";
  EXPECT_THAT(Read(absl::StrCat("bash msrun_launcher.sh", training, "$WORKERS\n")),
              AllOf(HasSubstr("launch.worker_num=?@1 "), HasSubstr("launch.local_worker_num=?@1 ")));
  EXPECT_THAT(Read(absl::StrCat("cp msrun_launcher.sh", training, "8\n")), Not(HasSubstr("worker_num")));
  EXPECT_THAT(Read("bash msrun_launcher.sh \"\" 8\nbash msrun_launcher.sh\n"), Not(HasSubstr("seed")));
}

TEST(LaunchScripts, OverridesAreArgumentsOfTheirOwn) {
  EXPECT_THAT(Read("python t.py --lr 0.1 data.batch=3 +trainer.x=1 --betas 0.9 0.95\n"),
              HasSubstr("lr=0.1@1 data.batch=3@1 +trainer.x=1@1 betas=[0.9, 0.95]@1 "));
  EXPECT_THAT(Read("python t.py --seed 1 --seed 2\n"), HasSubstr("seed=2@1 !repeated_option"));
}

TEST(LaunchScripts, WhatIsNotReadIsSaid) {
  EXPECT_THAT(Read("source env.sh\n. ./b.sh\npython a.py --lr 1\n"), HasSubstr("!sourced_script !sourced_script"));
  EXPECT_THAT(Read("echo python a.py\npip install x\n"), HasSubstr("!no_training_command"));
  EXPECT_THAT(Read("cat > c.sh <<'EOF'\npython b.py --lr 2\nEOF\npython a.py --lr 1\n"),
              HasSubstr("launch.entry=a.py@4 lr=1@4 "));
}

TEST(ShellScripts, HostileTextEndsAndStaysBounded) {
  for (const char* text :
       {"A=$(((((\n\"$'`${", "torchrun \"${A[@]", "<<", "<<E\nx", "A=(((", "${${${${", "a <<A <<B\n",
        "bash -c \"bash -c 'bash -c \\\"python a.py", "$", "\\", "a\\", "\"\\", "$((", "((", "))", "2>", "&>"}) {
    (void)ReadShellScript(text);
  }
  std::string bomb = "A=xxxxxxxxxx\n";
  for (char c = 'B'; c <= 'Z'; ++c) {
    const char before = static_cast<char>(c - 1);
    for (int i = 0; i < 2; ++i)
      absl::StrAppend(&bomb, std::string(1, c), i == 0 ? "=" : "+=", "\"$", std::string(1, before), " $",
                      std::string(1, before), "\"\n");
  }
  absl::StrAppend(&bomb, "python a.py $Z\n");
  const ShellScript script = ReadShellScript(bomb);
  std::size_t bytes = 0;
  for (const ShellCommand& command : script.commands) {
    for (const ShellWord& word : command.words) bytes += word.text.size();
  }
  EXPECT_LT(bytes, std::size_t{1} << 24);
  std::string nested = "${A:-";
  for (int i = 0; i < 12; ++i) nested = absl::StrCat("${A", i, ":-", nested, nested.size() < 100 ? nested : "");
  (void)ReadShellScript(absl::StrCat("python a.py --x ", nested, "\n"));
}

TEST(LaunchScripts, NodesAndTasksThatNobodyWrites) {
  EXPECT_THAT(Read("torchrun --standalone --nproc-per-node=4 a.py\n"), HasSubstr("launch.nnodes=1@1 "));
  EXPECT_THAT(Read("python -m torch.distributed.run --nproc_per_node=4 a.py\n"), HasSubstr("launch.nnodes=~1@1 "));
  EXPECT_THAT(Read("torchrun --nnodes 2 --nproc-per-node=4 a.py\n"), Not(HasSubstr("launch.nnodes=1@")));
  // Arguments from outside may hold it.
  EXPECT_THAT(Read("torchrun $DISTRIBUTED a.py\n"), Not(HasSubstr("launch.nnodes")));
  // Where srun starts the ranks, the job's tasks are they; where it starts a launcher, they are not.
  EXPECT_THAT(Read("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\nsrun python a.py\n"),
              HasSubstr("launch.ntasks-per-node=8@2 "));
  EXPECT_THAT(Read("#SBATCH --ntasks-per-node=8\nsrun --ntasks-per-node=4 python a.py\n"),
              HasSubstr("launch.ntasks-per-node=4@2 "));
  EXPECT_THAT(Read("#SBATCH --ntasks-per-node=1\nsrun torchrun --nproc_per_node=8 a.py\n"),
              Not(HasSubstr("launch.ntasks-per-node=1")));
}

}  // namespace
}  // namespace paritect
