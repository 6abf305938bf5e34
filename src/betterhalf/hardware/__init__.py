"""What this machine is, and what it does while a trial runs.

Read from outside the trial and without any framework: psutil for the machine and for
processes, NVML for NVIDIA GPUs. What a machine cannot tell is absent, with the reason.
"""
