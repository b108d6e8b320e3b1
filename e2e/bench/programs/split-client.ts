/**
 * A client of one tunnel whose control socket and data sockets use different relays, as may happen behind a balancer:
 * `split-client.ts CONTROL_URL DATA_URL KEY TUNNEL_ID LOCAL_PORT`. It runs the engine of `culvert` without trunks,
 * which serve visitors of the relay on which they land. Prints `online`.
 */
import { Deadlines, systemClock } from '../../../desktop/client/clock.ts';
import { ControlConnection } from '../../../desktop/client/control/control-connection.ts';
import { DataDialer } from '../../../desktop/client/data/data-dialer.ts';
import { LocalDialer } from '../../../desktop/client/local/local-dialer.ts';
import { textOf } from '../../../desktop/client/messages.ts';
import { Network } from '../../../desktop/client/network/network.ts';
import { parseRelayAddress } from '../../../desktop/client/relay/relay-address.ts';
import { Connections } from '../../../desktop/client/visitors/connections.ts';

const [controlUrl = '', dataUrl = '', key = '', tunnelId = '', localPort = ''] = process.argv.slice(2);
const network = new Network();
const deadlines = new Deadlines(systemClock);
const data = new DataDialer(parseRelayAddress(dataUrl), network, deadlines);
const local = new LocalDialer(
  { host: '127.0.0.1', port: Number(localPort), https: false, waitMs: 0 },
  deadlines,
);
const connections = new Connections({
  data,
  local,
  deadlines,
  onProblem: ({ code, text }) => {
    if (code !== 'visitor-gone') fail(textOf(text));
  },
});
const relay = parseRelayAddress(controlUrl);
void new ControlConnection(
  { relay, key, tunnelId, network, clock: systemClock, random: Math.random, isBusy: () => true },
  {
    onSilent() {},
    onHeard() {},
    onOpen(address) {
      data.prefer(address);
      console.log('online');
    },
    onDrain() {},
    onKnock() {},
    onConnection: (id) => connections.accept(id),
    onEnd: (end) => fail(`the control socket has ended: ${end.kind}`),
  },
);

function fail(why: string): never {
  console.error(why);
  process.exit(1);
}
