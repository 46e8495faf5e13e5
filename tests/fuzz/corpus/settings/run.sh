#!/bin/bash
export HCCL_CONNECT_TIMEOUT=1200
ARGS="--lr 1e-4 \
  --fp16 --micro-batch-size 4"
torchrun --nproc_per_node 8 train.py $ARGS
