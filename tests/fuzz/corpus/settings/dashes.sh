ARGS="--"
torchrun -- $ARGS --x 1 ---
