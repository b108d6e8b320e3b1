/** A relay that is replaced by another, repeatedly, under load. */
import { Scope } from '../../support/scope.ts';
import { torture } from '../torture.ts';
import { type Outcome, Scene } from '../tools/replacement-scene.ts';

const TIMES = 20;
const FAULTS_SHOWN = 5;

type Figure = 'failed' | 'miscounted' | 'missing';

/** The duration of a request is reported without a threshold: a busy machine prolongs it, and nothing promises it. */
torture<Figure>({
  name: 'replacements',
  onlyWhole: true,
  title: `\`culvert-relay serve --replace\` runs ${TIMES} times in a row, first without and then with TLS, under a load of up to 500 requests/s, event streams, WebSockets, downloads, uploads and API calls`,
  thresholds: {
    failed: {
      meaning: 'failed requests, streams and API calls, plus relays with an exit code other than 0',
      atMost: 0,
    },
    miscounted: { meaning: 'requests counted wrongly', atMost: 0 },
    missing: { meaning: 'acknowledged tunnels that were missing afterwards', atMost: 0 },
  },

  async run({ scope, say }) {
    const outcomes: Outcome[] = [];
    for (const isSecure of [false, true]) {
      const part = new Scope();
      scope.defer(() => part.end());
      const scene = await Scene.start(part, isSecure);
      const outcome = await scene.replace(TIMES, (line) => say(`${isSecure ? 'TLS' : 'plain'}, ${line}`));
      outcomes.push(outcome);
      await part.end();
    }
    const sum = (count: (outcome: Outcome) => number): number =>
      outcomes.reduce((total, outcome) => total + count(outcome), 0);
    const [plain, secure] = outcomes.map(({ longestMs, tookMs }) => ({
      longest: longestMs,
      took: Math.round(Math.max(...tookMs)),
    }));
    return {
      figures: {
        failed: sum(({ faults }) => faults.length),
        miscounted: sum(({ miscounted }) => miscounted),
        missing: sum(({ missing }) => missing),
      },
      faults: outcomes.flatMap(({ faults }) => faults).slice(0, FAULTS_SHOWN),
      done: `${TIMES} replacements without TLS and ${TIMES} with it, ${sum(({ requests }) => requests)} requests, ${sum(({ created }) => created)} tunnels created; without and with TLS, the longest request took ${plain?.longest} and ${secure?.longest} ms, and the slowest new relay served after ${plain?.took} and ${secure?.took} ms`,
    };
  },
});
