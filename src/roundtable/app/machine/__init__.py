"""Set-up and diagnosis of this machine: installed programs and models, what works, and skills for agent programs."""
