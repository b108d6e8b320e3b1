/** Several tunnels in one process. */
import type { TunnelSpec } from '../../config/tunnel-spec.ts';
import { ExitCode } from '../exit-code.ts';
import type { RelayAccess } from '../relay-access.ts';
import type { OnceOnline } from '../view/once-online.ts';
import { CreateQueue } from './create-queue.ts';
import { type ServeOptions, serveTunnel } from './serve-tunnel.ts';

/** Tunnels of the command line or of `culvert.yml`, once it is known who may come in. */
export interface TunnelsToServe extends RelayAccess {
  readonly tunnels: readonly TunnelSpec[];
  readonly onceOnline: OnceOnline;
  /** whether a relay that limits creates is waited for; its refusal is shown otherwise */
  readonly isPatient: boolean;
}

/** Creates what follows a tunnel. */
export type Attach = (
  spec: TunnelSpec,
) => Pick<ServeOptions, 'reporter' | 'log' | 'claim' | 'onReplay' | 'onAddress'>;

/** What all tunnels share. */
export type Surroundings = Pick<ServeOptions, 'output' | 'interrupted' | 'inspection' | 'clock'>;

/** From the best end to the worst. */
const FROM_BEST: readonly ExitCode[] = [
  ExitCode.ok,
  ExitCode.gone,
  ExitCode.replaced,
  ExitCode.failed,
  ExitCode.keyRefused,
];

/** @returns when all tunnels are offline for good: the worst of their exit codes */
export async function serveTunnels(
  command: TunnelsToServe,
  attach: Attach,
  around: Surroundings,
): Promise<ExitCode> {
  const queue = command.isPatient ? new CreateQueue(around.interrupted, around.clock) : undefined;
  const codes = await Promise.all(
    command.tunnels.map((spec) =>
      serveTunnel({
        access: command,
        spec,
        ...attach(spec),
        ...around,
        create: queue && ((api, request) => queue.create(api, request)),
      }),
    ),
  );
  return codes.reduce(
    (worst, code) => (FROM_BEST.indexOf(code) > FROM_BEST.indexOf(worst) ? code : worst),
    ExitCode.ok,
  );
}
