import type { JSX } from 'preact';
import type { Problem } from '../../../shared/snapshot.ts';
import { Notice } from '../../view/parts.tsx';

/** Why nothing can be reached for now; only the cause nearest to the user. */
export function RelayNotice({
  problem,
  hasNetwork,
}: {
  problem: Problem | undefined;
  hasNetwork: boolean;
}): JSX.Element | null {
  if (!hasNetwork) {
    return <Notice>This computer has no network. Your tunnels come back by themselves when it has.</Notice>;
  }
  if (problem === undefined) return null;
  return <Notice>{problem.text}</Notice>;
}
