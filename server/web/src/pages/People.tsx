// People: the accounts for admins, and everybody's own sessions, tokens and password.
import { useMe } from "../lib/session";
import { Passkeys } from "../passkeys/Passkeys";
import { Password } from "../people/Password";
import { Tokens } from "../people/Tokens";
import { Users } from "../people/Users";
import { Head } from "../ui/basics";

export default function People() {
  const me = useMe();
  return (
    <main className="page">
      <Head title="People">You are {me.user}, with the role {me.role}.</Head>
      {me.is("admin") && <Users />}
      <Tokens />
      <Password />
      <Passkeys />
    </main>
  );
}
