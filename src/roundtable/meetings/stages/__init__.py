"""The stages of a long meeting: each kind is an async function from a StageContext to the stage's end."""
