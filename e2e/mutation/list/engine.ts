import { type Mutation, ui, unit } from '../mutation.ts';

export const ENGINE: readonly Mutation[] = [
  {
    part: 'engine',
    notice: 'a tunnel that has lost its relay never comes back',
    file: 'desktop/engine/tunnel-session.ts',
    find: 'clock.setTimeout(() => this.#connect(), retryInMs)',
    replace: 'clock.setTimeout(() => undefined, retryInMs)',
    tests: ui('what comes back by itself a relay that was killed'),
  },
  {
    part: 'engine',
    notice: 'a tunnel that has expired is said to be gone, as if nobody knew why',
    file: 'desktop/engine/verdict.ts',
    find: "reason: 'expired', why: 'The tunnel has expired.'",
    replace: "reason: 'gone', why: 'The tunnel has expired.'",
    tests: ui('tunnels tells that a tunnel has expired'),
  },
  {
    part: 'engine',
    notice: 'nothing, but a client whose key is refused asks the relay for ever',
    file: 'desktop/engine/verdict.ts',
    find: "case 401:\n    case 403:\n      return { retry: false, reason: 'key-refused',",
    replace:
      "case 401:\n      return { retry: true, why: message, reach: 'answered' };\n    case 403:\n      return { retry: false, reason: 'key-refused',",
    tests: unit('judge stops at 401: key-refused'),
  },
  {
    part: 'engine',
    notice: 'Replay sends a GET in place of a POST',
    file: 'desktop/engine/inspector/replay.ts',
    find: 'local.write(this.#request);',
    replace: "local.write(Buffer.from(this.#request.toString('latin1').replace(/^POST/, 'GET'), 'latin1'));",
    tests: ui('the request log sends a request again, and shows what came of it'),
  },
  {
    part: 'engine',
    notice: 'the curl command of a request leaves out its body',
    file: 'desktop/engine/inspector/curl.ts',
    find: 'return lines([...words, `--data-raw ${quoteWord(body.toString())}`]);',
    replace: 'return lines(words);',
    tests: ui('the request log copies a request as a curl command'),
  },
  {
    part: 'engine',
    notice: 'a tunnel is extended by its own lifetime, not by the time that was asked for',
    file: 'desktop/engine/api-client.ts',
    find: 'ttl === undefined ? {} : { ttl }',
    replace: '{}',
    tests: ui('tunnels extends by one click and by a time that is typed'),
  },
  {
    part: 'engine',
    notice: 'the request log misses whatever the local server answers',
    file: 'desktop/engine/recorded-stream.ts',
    find: 'if (!this.#hasEnded) this.#recording?.toVisitor(chunk);',
    replace: '',
    tests: ui('the request log lists requests, newest first, and takes in new ones'),
  },
];
