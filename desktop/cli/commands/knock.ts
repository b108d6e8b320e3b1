/** `culvert knock`: answers a visitor who is asking for access. */
import { TTL_RULE } from '../../../shared/value-rules.ts';
import { UsageError } from '../../client/failures.ts';
import { apiOf, defineCommand, TUNNEL } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { readOption } from '../command-line/parse.ts';
import { jsonLine } from '../output/format.ts';
import { findTunnel } from './find-tunnel.ts';

const BOTH = 'Specify both the tunnel and the approval request. "culvert http --knock" shows both.';

export const knockCommand = defineCommand({
  name: 'knock',
  operands: { tunnel: { ...TUNNEL, missing: BOTH }, knock: { shown: 'KNOCK', missing: BOTH } },
  summary: 'Approve or deny a visitor who is asking for access',
  options: { Answer: ['admit', 'refuse', 'for'], ...COMMON },
  examples: {
    'culvert knock my-app 0123456789abcdef --admit --for 8h': 'give a visitor access for eight hours',
    'culvert knock my-app 0123456789abcdef --refuse': 'deny a visitor, or revoke an approval',
  },
  details: `
    KNOCK is the id of the approval request. "culvert http --knock" prints this id when it is not running in a
    terminal, and the "knock" event of --json contains it. A visitor waits for up to 5 minutes.`,
  read(line) {
    const { admit = false, refuse = false, for: duration } = line.values;
    if (admit === refuse) throw new UsageError('Use either --admit or --refuse.');
    if (refuse && duration !== undefined) throw new UsageError('--for can only be used with --admit.');
    return { ...line.operands, admit, duration: readOption('for', duration, TTL_RULE), ...line.access() };
  },
  async run(command, { output }) {
    const { knock, admit, duration, json } = command;
    const api = apiOf(command);
    const { id } = findTunnel(await api.listTunnels(), command.tunnel);
    await api.answerKnock(id, knock, admit, duration);
    const status = admit ? 'admitted' : 'refused';
    output.out(json ? jsonLine({ status }) : `${admit ? 'Approved' : 'Denied'} the visitor.\n`);
  },
});
