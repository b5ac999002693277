import { useState } from "react";

export const Door = ({ open }: { open: boolean }) => {
  const [tries, setTries] = useState(0);
  return <button onClick={() => setTries(tries + 1)}>{open ? "in" : "out"}</button>;
};

export default function House<T,>({ rooms }: { rooms: T[] }) {
  return <>{rooms.map((it) => <Door open key={String(it)} />)}</>;
}

class Old extends React.Component<{}> {
  constructor(props: {}) { super(props); }
  render() { return <div className="old">{this.props.children}</div>; }
}
