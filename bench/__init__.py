"""Speed and memory of Roundtable beside raw httpx2, LangGraph and AutoGen: `make bench`."""
