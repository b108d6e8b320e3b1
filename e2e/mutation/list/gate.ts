/** Who comes into a tunnel that is not open to everybody. */
import { type Mutation, unit } from '../mutation.ts';

export const GATE: readonly Mutation[] = [
  {
    part: 'edge',
    notice: 'who is not in a network that may come in gets in with a password',
    file: 'server/gate/gate.ts',
    find: "if (!access.allows(arrival.address)) return { kind: 'address' };",
    replace: '',
    tests: unit('Gate looks at the address first, whatever is shown'),
  },
  {
    part: 'edge',
    notice: 'who has come into one tunnel comes into all',
    file: 'server/gate/passes.ts',
    find: '`pass ${textOf(scope)} ${said}`',
    replace: '`pass ${said}`',
    tests: unit('Passes are good for one tunnel, one access and one form of the address'),
  },
  {
    part: 'edge',
    notice: 'a cookie that was right once is right at every tunnel, and for ever',
    file: 'server/gate/passes.ts',
    find: 'known !== undefined && isFor(known.scope, scope)',
    replace: 'known !== undefined',
    tests: unit('Passes are good for one tunnel, one access and one form of the address'),
  },
  {
    part: 'edge',
    notice: 'the local service gets the password that was meant for the gate',
    file: 'server/gate/gate.ts',
    find: 'authorization: credentials !== undefined && access.hasUser(credentials.user)',
    replace: 'authorization: false',
    tests: unit('Gate keeps credentials that name one of its users, and no others, from the service'),
  },
  {
    part: 'edge',
    notice: 'who tries passwords at one tunnel keeps the visitors of all others waiting',
    file: 'server/gate/password-hashes.ts',
    find: 'const [first] = this.#waiting;',
    replace: 'const first = [...this.#waiting].at(-1);',
    tests: unit('PasswordHashes of groups take turns'),
  },
  {
    part: 'edge',
    notice: 'what a relay reads late opens a tunnel again that was locked meanwhile',
    file: 'server/tunnels/live-tunnel.ts',
    find: 'if (revision <= this.#accessRevision) return;',
    replace: '',
    tests: unit('LiveTunnel takes no word for who may come in that is older than what it knows'),
  },
];
