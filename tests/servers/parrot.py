"""An agent command line that reads out everything it was given: variables, arguments and prompt."""

import json
import os
import sys
import time

time.sleep(0.3)
words = [*(f"{name} is {value}" for name, value in os.environ.items()), *sys.argv, sys.stdin.read()]
sys.stderr.write("\n".join(words) + "\n")
block = json.dumps({"position": "A", "confidence": 8, "stand": "A", "error": "", "evidence": []})
print(json.dumps({"kind": "said", "text": "\n".join(words) + f"\n\n```json\n{block}\n```"}))
if "fail" in sys.argv:
    print(json.dumps({"kind": "failed", "why": " ".join(words)}))
