/** CPU time of both ends of a peer over a measurement. */
import type { RunningPeer } from '../peers/peer.ts';
import { cpuSeconds } from '../processes.ts';
import type { Samples } from '../stats.ts';

/**
 * Starts counting.
 *
 * @returns adds what each end that has processes has used since to the samples, as `NAME/CPU s/UNIT END`; `units` is how many
 *   units were served meanwhile
 */
export function countCpu(
  peer: RunningPeer,
): (samples: Samples, name: string, unit: string, units: number) => void {
  const ends = [
    { end: 'relay', pids: peer.relayPids() },
    { end: 'client', pids: peer.clientPids() },
  ]
    .filter(({ pids }) => pids.length > 0)
    .map((each) => ({ ...each, before: cpuSeconds(each.pids) }));
  return (samples, name, unit, units) => {
    for (const { end, pids, before } of ends)
      samples.add(`${name}/CPU s/${unit} ${end}`, (cpuSeconds(pids) - before) / units);
  };
}
