"""Set-up and diagnosis of this machine: what is installed, what works, skills for agent programs."""
