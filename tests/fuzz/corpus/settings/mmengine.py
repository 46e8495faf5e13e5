_base_ = ['x.py']
base_lr = 1e-3
optim_wrapper = dict(
    type='AmpOptimWrapper',  # (half
    optimizer=dict(type='AdamW', lr=base_lr, betas=(0.9, 0.999)), clip_grad=None)
train_cfg = {'max_epochs': 12, 'by': f(1)}
param_scheduler = [dict(end=500)]
