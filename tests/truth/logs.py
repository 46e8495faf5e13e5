"""How training runs print themselves: one function a dialect, from a run's numbers to the text of its log.

What a dialect carries stands in its decorator: only faults that it can tell are put into it.
"""
import dataclasses
import json
import math

DIALECTS = {}


@dataclasses.dataclass
class Dialect:
    name: str
    write: object  # Run -> text, bytes, or path -> bytes
    file: str
    fields: frozenset
    framework: str
    form: str  # lines: anything may stand before and between; else the file, or folder, has a structure of its own
    mean: bool  # a printed loss is the mean since the line before
    on_nan: str  # print | omit | stop: what becomes of a loss that is no number


def dialect(name, fields, file="train.log", framework="pytorch", form="lines", mean=False, on_nan="print"):
    def register(write):
        DIALECTS[name] = Dialect(name, write, file, frozenset(fields.split()), framework, form, mean, on_nan)
        return write

    return register


def files_of(dialect, run):
    """path -> bytes"""
    written = dialect.write(run)
    if isinstance(written, dict):
        return written
    return {dialect.file: written.encode() if isinstance(written, str) else written}


def each(run, line):
    return "".join(line(step) for step in run.steps)


@dialect("megatron", "loss lr grad_norm scale skips counter samples", mean=True, on_nan="omit")
def megatron(run):
    def line(s):
        told = s.loss is not None and not math.isnan(s.loss) and s.skipped < run.interval
        loss = f" lm loss: {s.loss:.6E} |" if told else ""
        norm = f" grad norm: {s.grad_norm:.3f} |" if s.skipped < run.interval else ""
        bad = 0 if s.loss is None or not math.isnan(s.loss) else 1
        return (
            f" [2026-08-20 10:11:12.123456] iteration {s.step:8d}/{run.total:8d} | consumed samples: {s.samples:12d} | "
            f"elapsed time per iteration (ms): 1234.5 | learning rate: {s.lr:.6E} | global batch size: {run.batch:5d} |"
            f"{loss} loss scale: {s.scale:.1f} |{norm} number of skipped iterations: {s.skipped:3d} | "
            f"number of nan iterations: {bad:3d} |\n"
        )

    return each(run, line)


@dialect("mindspeed-fsdp2", "loss lr grad_norm samples", mean=True)
def mindspeed_fsdp2(run):
    def line(s):
        loss = "" if s.loss is None else f" lm loss: {s.loss:.6E} |"
        return (
            f" iteration {s.step:8d}/{run.total:8d} | consumed samples: {s.samples:10d} | consumed tokens: "
            f"{s.samples * 4096:10d} | elapsed time per iteration (ms): 812.34 | tokens/s: 80123.45 | mfu: 41.20 | "
            f"learning rate: {s.lr:.6E} | global batch size: {run.batch:5d} |{loss} grad norm: {s.grad_norm:.3f} | "
            f"max_memory_allocated(GB): 40.12 | max_memory_reserved(GB): 44.00 | \n"
        )

    return each(run, line)


@dialect("deepspeed", "loss lr skips counter")
def deepspeed(run):
    out, skipped = [], 0
    head = "[2026-01-02 03:04:05,678] [INFO]"
    for s in run.steps:
        for _ in range(s.skipped):
            out.append(
                f"{head} [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
                f"Attempted loss scale: {s.scale * 2:.0f}, reducing to {s.scale:.0f}\n"
            )
        skipped += s.skipped
        out.append(
            f"{head} [logging.py:96:log_dist] [Rank 0] step={s.step}, skipped={skipped}, lr=[{s.lr!r}], "
            f"mom=[(0.9, 0.95)]\n"
        )
        out.append(
            f"{head} [timer.py:199:stop] epoch=0/micro_step={s.step * 2}/global_step={s.step}, "
            "RunningAvgSamplesPerSec=171.7, CurrSamplesPerSec=171.4, MemAllocated=3.96GB, MaxMemAllocated=22.95GB\n"
        )
        if s.loss is not None:
            out.append(f"step: {s.step} loss: {s.loss:.6f}\n")
    return "".join(out)


def hf_record(run, s, texts=False):
    record = {} if s.loss is None else {"loss": round(s.loss, 4)}
    record.update(grad_norm=s.grad_norm, learning_rate=s.lr, epoch=round(s.step / run.total * 2, 4))
    return {k: f"{v:.6g}" for k, v in record.items()} if texts else record


def hf_bar(run, s):
    share = s.step * 100 // run.total
    return f"\r{share:3d}%|{'#' * (share // 10):10s}| {s.step}/{run.total} [00:{s.step % 60:02d}<10:00,  1.10it/s]"


@dialect("hf-stdout", "loss lr grad_norm", mean=True)
def hf_stdout(run):
    return each(run, lambda s: f"{hf_bar(run, s)}{hf_record(run, s)!r}\n")


@dialect("hf-stdout-strings", "loss lr grad_norm", mean=True)
def hf_stdout_strings(run):
    return each(run, lambda s: f"{hf_bar(run, s)}{hf_record(run, s, True)!r}\n")


@dialect("hf-trainer-state", "loss lr grad_norm", file="trainer_state.json", form="json", mean=True)
def hf_trainer_state(run):
    history = [dict(hf_record(run, s), step=s.step) for s in run.steps]
    return json.dumps(
        {
            "best_metric": None,
            "epoch": 2.0,
            "global_step": run.steps[-1].step,
            "is_local_process_zero": True,
            "is_world_process_zero": True,
            "log_history": history,
            "logging_steps": run.interval,
            "max_steps": run.total,
            "num_train_epochs": 2,
            "train_batch_size": 8,
        },
        indent=2,
        sort_keys=True,
    )


@dialect("llamafactory-jsonl", "loss lr", file="trainer_log.jsonl", form="jsonl", mean=True)
def llamafactory(run):
    def line(s):
        loss = {} if s.loss is None else {"loss": round(s.loss, 4)}
        return (
            json.dumps(
                {
                    "current_steps": s.step,
                    "total_steps": run.total,
                    **loss,
                    "lr": s.lr,
                    "epoch": round(s.step / run.total * 2, 4),
                    "percentage": round(s.step * 100 / run.total, 2),
                    "elapsed_time": "0:00:32",
                    "remaining_time": "6:01:13",
                }
            )
            + "\n"
        )

    return each(run, line)


@dialect("ms-swift-jsonl", "loss lr grad_norm", file="logging.jsonl", form="jsonl", mean=True)
def ms_swift(run):
    return each(
        run,
        lambda s: json.dumps(
            dict(
                hf_record(run, s),
                **{
                    "global_step/max_steps": f"{s.step}/{run.total}",
                    "percentage": f"{s.step * 100 / run.total:.2f}%",
                    "elapsed_time": "32s",
                    "remaining_time": "1h",
                    "memory(GiB)": 40.1,
                    "train_speed(iter/s)": 0.31,
                },
            )
        )
        + "\n",
    )


@dialect("mindformers", "loss lr grad_norm scale skips counter", framework="mindspore")
def mindformers(run):
    head = "2025-07-20 10:00:00,123 - mindformers./output/log[mindformers/core/callback/callback.py:490] - INFO - "
    per_epoch = run.total // 2

    def line(s):
        epoch, step = (s.step - 1) // per_epoch + 1, (s.step - 1) % per_epoch + 1
        loss = "" if s.loss is None else f" loss:[{s.loss:6.3f}/{s.loss:6.3f}],"
        return (
            f"{head}{{ Epoch:[{epoch:3d}/  2], step:[{step:5d}/{per_epoch:5d}],{loss} "
            f"per_step_time: 812ms, lr: {s.lr!r}, overflow cond: {s.skipped > 0}, loss_scale: {s.scale:.1f}, "
            f"global_norm: [{s.grad_norm:.7f}], "
            f"train_throughput_per_npu: 123.456T\n{head}   {s.step * 100 / run.total:.1f}% |#####        | "
            "1.23456 samples/s/p  0:13:33 }\n"
        )

    return each(run, line)


@dialect("mindspore-lossmonitor", "loss", framework="mindspore", on_nan="stop")
def mindspore(run):
    per_epoch = run.total // 2
    out = []
    for s in run.steps:
        place = f"epoch: {(s.step - 1) // per_epoch + 1} step: {(s.step - 1) % per_epoch + 1}"
        if s.loss is not None and not math.isfinite(s.loss):
            return "".join(out) + f"ValueError: {place}. Invalid loss, terminating training.\n"
        out.append(f"{place}\n" if s.loss is None else f"{place}, loss is {s.loss:.7f}\n")
        if s.step % per_epoch == 0:
            out.append("Train epoch time: 103888.471 ms, per step time: 465.868 ms\n")
    return "".join(out)


@dialect("mindspore-callback", "loss scale skips counter", framework="mindspore")
def mindspore_callback(run):
    return each(
        run,
        lambda s: f"epoch: 0, current epoch percent: {s.step / run.total:.3f}, step: {s.step}, "
        + ("" if s.loss is None else f"loss: {s.loss:.6f}, ")
        + f"overflow: {s.skipped > 0}, loss scale: {s.scale:g}\n",
    )


@dialect("keras", "loss lr", framework="tensorflow", mean=True)
def keras(run):
    def line(s):
        loss = "" if s.loss is None else f" - loss: {s.loss:.4f}"
        return (
            f"Epoch {s.step}/{run.total}\n\r195/390 [======>.......] - ETA: 30s{loss}\r"
            f"390/390 [==============================] - 60s 155ms/step{loss} - lr: {s.lr:.4e}\n"
        )

    return each(run, line)


FITS = (0, 80, 140)  # the first step of each `fit` of one script: a warm-up, a training, a fine-tuning


@dialect("keras-fits", "loss lr", framework="tensorflow", mean=True)
def keras_fits(run):
    """Several `fit` calls in one log: each counts its epochs from 1, and the last but one may end early."""

    def line(i, s):
        begin = max(first for first in FITS if first <= i)
        later = [first for first in FITS if first > i] + [len(run.steps)]
        loss = "" if s.loss is None else f" - loss: {s.loss:.4f}"
        length = min(later) - begin
        return (
            f"Epoch {i - begin + 1}/{length}\n\r195/390 [======>.......] - ETA: 30s{loss}\r"
            f"390/390 [==============================] - 60s 155ms/step{loss} - lr: {s.lr:.4e}\n"
        )

    return "".join(line(i, s) for i, s in enumerate(run.steps))


@dialect("caffe", "loss lr", framework="other", mean=True)
def caffe(run):
    """The rate stands on a line of its own, the loss of each output below the whole."""

    def line(s):
        glog = f"I0101 10:{s.step // 60 % 60:02d}:{s.step % 60:02d}.123456  4321 "
        loss = "" if s.loss is None else f", loss = {s.loss:.6g}"
        output = "" if s.loss is None else f"{glog}solver.cpp:237]     Train net output #0: loss = {s.loss:.6g} (* 1 = "
        output += "" if s.loss is None else f"{s.loss:.6g} loss)\n"
        return (
            f"{glog}solver.cpp:218] Iteration {s.step} (8.12345 iter/s, 0.1231s/1 iters){loss}\n{output}"
            f"{glog}sgd_solver.cpp:105] Iteration {s.step}, lr = {s.lr:.6g}\n"
        )

    return each(run, line)


def yolo_terms(s):
    """The three terms that YOLO prints in place of the loss; one alone is no number where the loss is none."""
    if math.isfinite(s.loss):
        return s.loss * 0.5, s.loss * 0.3, s.loss * 0.2
    return 1.25, 0.75, s.loss


@dialect("yolo", "loss", mean=True)
def yolo(run):
    """Ultralytics' table: a header and a bar an epoch, drawn as it grows."""

    head = "".join(f"{word:>11}" for word in "Epoch GPU_mem box_loss cls_loss dfl_loss Instances Size".split())

    def line(s):
        terms = "".join(f"{term:>11.4g}" for term in yolo_terms(s))
        row = f"{f'{s.step}/{run.total}':>11}{'2.61G':>11}{terms}{81:>11}{640:>11}: "
        bars = (f"\r{row}{done * 100 // 8}% {'━' * done} {done}/8 5.2it/s 1.5s" for done in (4, 8))
        return f"\n{head}\n{''.join(bars)}\n"

    return each(run, line)


@dialect("yolo-csv", "loss lr", file="results.csv", form="csv", mean=True)
def yolo_csv(run):
    names = "epoch,time,train/box_loss,train/cls_loss,train/dfl_loss,metrics/mAP50(B),val/box_loss,val/cls_loss,"

    def line(s):
        terms = ["", "", ""] if s.loss is None else [f"{term:.5f}" for term in yolo_terms(s)]
        if s.loss is None:
            terms[0] = "1.25"  # the others were not written: what is there is not the loss
        return f"{s.step},{s.step * 12.5:.4f},{','.join(terms)},0.5,1.25,0.75,{s.lr:.6g},{s.lr:.6g}\n"

    return names + "lr/pg0,lr/pg1\n" + each(run, line)


@dialect("nanogpt", "loss")
def nanogpt(run):
    text = "tokens per iteration will be: 491,520\n"
    return text + each(
        run,
        lambda s: f"iter {s.step}: "
        + ("" if s.loss is None else f"loss {s.loss:.4f}, ")
        + "time 123.45ms, mfu 30.12%\n",
    )


@dialect("torchtitan", "loss grad_norm")
def torchtitan(run):
    return each(
        run,
        lambda s: "[titan] 2026-01-01 00:00:00,000 - root - INFO - \x1b[31mstep: "
        + f"{s.step:2d}  "
        + ("" if s.loss is None else f"\x1b[32mloss: {s.loss:8.5f}  ")
        + f"\x1b[38;2;180;60;0mgrad_norm: {s.grad_norm:7.4f}  \x1b[38;2;54;234;195mmemory:  1.23GiB(1.55%)  "
        "\x1b[34mtps: 12,345  \x1b[36mtflops: 1.23  \x1b[35mmfu: 0.12%\x1b[39m\n",
    )


def updates(run, line):
    """fairseq counts updates: a step that was skipped leaves a note, and no number."""
    out, skipped = [], 0
    for s in run.steps:
        if s.skipped:
            skipped += s.skipped
            out.append(fairseq_note(s))
        else:
            out.append(line(s, s.step - skipped))
    return "".join(out)


def fairseq_note(s):
    return (
        "2024-01-01 00:00:00 | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, "
        f"setting loss scale to: {s.scale:.1f}\n"
    ) * s.skipped


@dialect("fairseq-json", "loss lr grad_norm scale skips", mean=True)
def fairseq_json(run):
    def line(s, number):
        record = {"epoch": 1, "update": round(number / run.total, 3)}
        if s.loss is not None:
            record.update(loss=f"{s.loss:.5f}", nll_loss=f"{s.loss * 0.9:.5f}")
        record.update(
            wps="1000",
            ups="2.1",
            wpb="3500",
            bsz=str(run.batch),
            num_updates=str(number),
            lr=f"{s.lr:.6g}",
            gnorm=f"{s.grad_norm:.3f}",
            loss_scale=f"{s.scale:g}",
            train_wall="48",
            wall="60",
        )
        return f"2024-01-01 00:00:00 | INFO | train_inner | {json.dumps(record)}\n"

    return updates(run, line)


@dialect("fairseq-simple", "loss lr grad_norm scale skips", mean=True)
def fairseq_simple(run):
    def line(s, number):
        loss = "" if s.loss is None else f"loss={s.loss:.5f}, nll_loss={s.loss * 0.9:.5f}, "
        return (
            f"2024-01-01 00:00:00 | INFO | train_inner | epoch 001: {number:6d} / {run.total} {loss}"
            f"wps=1000, ups=2.1, wpb=3500, bsz={run.batch}, num_updates={number}, lr={s.lr:.6g}, "
            f"gnorm={s.grad_norm:.3f}, loss_scale={s.scale:g}, train_wall=48, wall=60\n"
        )

    return updates(run, line)


@dialect("mmengine", "loss lr grad_norm", mean=True)
def mmengine(run):
    return each(
        run,
        lambda s: f"2024/01/01 00:00:00 - mmengine - INFO - Iter(train) [{s.step:5d}/{run.total}]  lr: {s.lr:.4e}  "
        "eta: 0:10:00  time: 0.2100  data_time: 0.0100  memory: 1234  "
        + ("" if s.loss is None else f"loss: {s.loss:.4f}  ")
        + f"grad_norm: {s.grad_norm:.4f}\n",
    )


@dialect("mmengine-json", "loss lr grad_norm", file="scalars.json", form="jsonl", mean=True)
def mmengine_json(run):
    def line(s):
        loss = {} if s.loss is None else {"loss": s.loss}
        return (
            json.dumps(
                {
                    "lr": s.lr,
                    "data_time": 0.01,
                    **loss,
                    "grad_norm": s.grad_norm,
                    "time": 0.21,
                    "epoch": 1,
                    "iter": s.step,
                    "memory": 1234,
                    "step": s.step,
                }
            )
            + "\n"
        )

    return each(run, line)


@dialect("mmcv-json", "loss lr grad_norm", file="None.log.json", form="jsonl", mean=True)
def mmcv_json(run):
    """MMCV 1 that runs by epochs: `iter` counts within one, and a validation's line counts its own batches."""
    epoch_steps = max(1, (run.total + 3) // 4)

    def line(s):
        epoch, place = divmod(s.step - 1, epoch_steps)
        loss = {} if s.loss is None else {"loss": s.loss}
        record = {"mode": "train", "epoch": epoch + 1, "iter": place + 1, "lr": s.lr, "memory": 1234, **loss}
        return json.dumps({**record, "grad_norm": s.grad_norm, "time": 0.21}) + "\n"

    return "{}\n" + each(run, line)


@dialect("llmc", "loss lr grad_norm")
def llmc(run):
    """llm.c: the gradient norm is a bare `norm`."""
    return each(
        run,
        lambda s: f"step {s.step:4d}/{run.total} | "
        + ("" if s.loss is None else f"loss {s.loss:.6f} (+0.12z)| ")
        + f"norm {s.grad_norm:.4f} (+0.34z)| lr {s.lr:.2e} | 4230.95 ms | 31.9% bf16 MFU | 123917 tok/s\n",
    )


@dialect("olmo-blocks", "loss grad_norm")
def olmo_blocks(run):
    """Values one a line under their step."""
    return each(
        run,
        lambda s: f"2026-01-01 00:00:00.000\thost:0\tolmo.train:979\tINFO\t[step={s.step}/{run.total},epoch=0]\n"
        + f"    optim/total_grad_norm={s.grad_norm:.4f}\n"
        + ("" if s.loss is None else f"    train/CrossEntropyLoss={s.loss:.5f}\n")
        + "    throughput/device/tokens_per_second=68,541\n",
    )


@dialect("swift-jsonl", "loss lr grad_norm", file="logging.jsonl", form="jsonl", mean=True)
def swift_jsonl(run):
    """ms-swift: the step stands beside the length, and the last line repeats the history."""

    def line(s):
        loss = {} if s.loss is None else {"loss": s.loss}
        place = {"epoch": round(s.step / run.total, 6), "global_step/max_steps": f"{s.step}/{run.total}"}
        return json.dumps({**loss, "grad_norm": s.grad_norm, "learning_rate": s.lr, **place}) + "\n"

    return each(run, line) + '{"last_model_checkpoint": "out/checkpoint-9", "log_history": [{"step": 1, "loss": 9.0}]}\n'


@dialect("bracket-place", "loss lr")
def bracket_place(run):
    return each(
        run,
        lambda s: f"[{s.step}/{run.total}] "
        + ("" if s.loss is None else f"Train loss: {s.loss:.5f}, ")
        + f"lr: {s.lr:.4e}, Elapsed_time: {s.step * 1.5:.5f}\n",
    )


@dialect("timm", "loss lr")
def timm(run):
    def line(s):
        i = s.step - 1
        loss = "" if s.loss is None else f"Loss: {s.loss:6.4f} ({s.loss:6.4f})  "
        return (
            f"Train: 0 [{i:4d}/{run.total} ({100 * i / max(1, run.total - 1):3.0f}%)]  {loss}Time: 0.393s,  651.30/s  "
            f"(0.393s,  651.30/s)  LR: {s.lr:.3e}  Data: 0.005 (0.005)\n"
        )

    return each(run, line)


@dialect("paddle", "loss lr grad_norm scale", framework="other", mean=True)
def paddle(run):
    return each(
        run,
        lambda s: "[2024-03-03 18:06:33,568] [    INFO] - "
        + ("" if s.loss is None else f"loss: {s.loss:.8f}, ")
        + f"learning_rate: {s.lr:.6g}, global_step: {s.step}, global_norm: {s.grad_norm:.6f}, "
        f"loss_scale: {s.scale:.1f}, interval_runtime: 4.8704, interval_samples_per_second: 6.57, "
        "interval_steps_per_second: 0.205, "
        f"progress_or_epoch: {s.step / run.total:.4f}\n",
    )


@dialect("lightning-csv", "loss lr grad_norm", file="metrics.csv", form="csv")
def lightning(run):
    text = "epoch,grad_norm,lr-AdamW,step,train_loss\n"
    return text + each(
        run, lambda s: f"0,{s.grad_norm!r},{s.lr!r},{s.step - 1},{'' if s.loss is None else repr(s.loss)}\n"
    )


@dialect("csv", "loss lr grad_norm scale", file="progress.csv", form="csv")
def csv(run):
    text = "step,loss,lr,grad_norm,loss_scale\n"
    return text + each(
        run, lambda s: f"{s.step},{'' if s.loss is None else repr(s.loss)},{s.lr!r},{s.grad_norm!r},{s.scale}\n"
    )


@dialect("jsonl", "loss lr grad_norm scale", file="metrics.jsonl", form="jsonl")
def jsonl(run):
    def line(s):
        loss = {} if s.loss is None else {"loss": s.loss}
        return json.dumps({"step": s.step, **loss, "lr": s.lr, "grad_norm": s.grad_norm, "loss_scale": s.scale}) + "\n"

    return each(run, line)


@dialect("dllogger", "loss lr")
def dllogger(run):
    def line(s):
        data = {"lr": s.lr} if s.loss is None else {"loss": s.loss, "lr": s.lr}
        return (
            "DLLL "
            + json.dumps(
                {
                    "timestamp": "1700000000.1",
                    "datetime": "2026-01-01 00:00:00.100000",
                    "elapsedtime": "1.5",
                    "type": "LOG",
                    "step": [0, s.step],
                    "data": data,
                }
            )
            + "\n"
        )

    return each(run, line)


@dialect("mllog", "loss")
def mllog(run):
    def entry(key, value, metadata, kind="POINT_IN_TIME"):
        return (
            ":::MLLOG "
            + json.dumps(
                {
                    "namespace": "",
                    "time_ms": 1700000000000,
                    "event_type": kind,
                    "key": key,
                    "value": value,
                    "metadata": {"file": "train.py", "lineno": 1, **metadata},
                }
            )
            + "\n"
        )

    head = entry("global_batch_size", run.batch, {}) + entry("run_start", None, {}, "INTERVAL_START")
    tail = entry("run_stop", None, {"status": "success"}, "INTERVAL_END")
    return (
        head + each(run, lambda s: "" if s.loss is None else entry("train_loss", s.loss, {"step_num": s.step})) + tail
    )


@dialect("verl", "loss lr grad_norm")
def verl(run):
    return each(
        run,
        lambda s: f"step:{s.step} - "
        + ("" if s.loss is None else f"actor/pg_loss:{s.loss:.6f} - ")
        + f"actor/grad_norm:{s.grad_norm:.6f} - actor/lr:{s.lr:.6g} - critic/score/mean:0.31 - training/epoch:0\n",
    )


@dialect("apex", "loss lr skips")
def apex(run):
    def line(s):
        notes = f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {s.scale:.1f}\n" * s.skipped
        return notes + f"step {s.step} " + ("" if s.loss is None else f"loss {s.loss:.6f} ") + f"lr {s.lr:.6e}\n"

    return each(run, line)


@dialect("text", "loss lr grad_norm scale")
def text(run):
    return each(
        run,
        lambda s: f"INFO step {s.step}/{run.total} "
        + ("" if s.loss is None else f"loss {s.loss:.6f} ")
        + f"lr {s.lr:.6e} grad_norm {s.grad_norm:.4f} loss_scale {s.scale:.1f}\n",
    )


@dialect("pytorch-examples", "loss")
def pytorch_examples(run):
    return each(
        run,
        lambda s: f"Epoch: [0][{s.step:5d}/{run.total}]\tTime  0.061 ( 0.996)\tData  0.000 ( 0.100)"
        + ("" if s.loss is None else f"\tLoss {s.loss:.4e} ({s.loss:.4e})")
        + "\tAcc@1   0.00 (  0.00)\n",
    )


@dialect("tf-estimator", "loss", framework="tensorflow")
def tf_estimator(run):
    return each(
        run,
        lambda s: ("" if s.loss is None else f"INFO:tensorflow:loss = {s.loss:.6f}, step = {s.step} (1.234 sec)\n")
        + "INFO:tensorflow:global_step/sec: 8.1\n",
    )


@dialect("columns", "loss", file="loss.txt", form="columns")
def columns(run):
    return each(run, lambda s: "" if s.loss is None else f"{s.step} {s.loss:.6f}\n")
