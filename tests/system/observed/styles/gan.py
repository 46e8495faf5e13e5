"""Two networks against each other, two optimizers: the generator's gradients go through the critic and are left there
until the critic's own turn. Fault "critic_not_cleared": its turn does not clear them."""
import sys
import time

import torch
from state_digest import seed, small_data, tell

FAULT = "critic_not_cleared" in sys.argv
seed(4)
make = torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.ReLU(), torch.nn.Linear(32, 12))
critic = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.LeakyReLU(0.2), torch.nn.Linear(32, 1))
for_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
for_make = torch.optim.Adam(make.parameters(), lr=2e-4, betas=(0.5, 0.999))
judge = torch.nn.BCEWithLogitsLoss()
loader = torch.utils.data.DataLoader(small_data(96), batch_size=8, shuffle=True, drop_last=True)
for epoch in range(2):
    for real, _ in loader:
        if not FAULT:
            for_critic.zero_grad()
        made = make(torch.randn(8, 6))
        judge(critic(real), torch.ones(8, 1)).backward()
        judge(critic(made.detach()), torch.zeros(8, 1)).backward()
        for_critic.step()
        for_make.zero_grad()
        judge(critic(made), torch.ones(8, 1)).backward()
        for_make.step()
        time.sleep(0.02)
tell(make, critic, for_make, for_critic)
