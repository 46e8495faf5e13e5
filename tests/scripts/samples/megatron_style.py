import os

import torch
from megatron.core import mpu
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
from megatron.core.models.gpt import GPTModel
from megatron.training import get_args, pretrain, print_rank_0


def model_provider(pre_process=True, post_process=True):
    args = get_args()
    print_rank_0("building GPT model on %s" % os.uname().nodename)
    return GPTModel(config=args.config, vocab_size=args.padded_vocab_size, max_sequence_length=args.seq_length,
                    pre_process=pre_process, post_process=post_process)


def get_batch(data_iterator):
    data = next(data_iterator)
    return data["tokens"].long(), data["labels"].long(), data["loss_mask"].float()


def forward_step(data_iterator, model):
    tokens, labels, loss_mask = get_batch(data_iterator)
    losses = model(tokens, labels=labels).float()
    loss = torch.sum(losses.view(-1) * loss_mask.view(-1)) / loss_mask.sum()
    return loss, lambda output: (output, {"lm loss": output})


def datasets_provider(samples):
    args = get_args()
    config = GPTDatasetConfig(random_seed=args.seed, sequence_length=args.seq_length, split=args.split)
    return GPTDataset(config, samples, rank=mpu.get_data_parallel_rank())


if __name__ == "__main__":
    pretrain(datasets_provider, model_provider, "encoder_or_decoder", forward_step)
