"""How a long meeting holds its stages: each kind is a plain async function from a Setting to the stage's end."""
