/** `culvert-relay doctor`: looks at everything that a relay depends on, here and through its public address (docs/operating/troubleshooting.md). */
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { type Check, type Finding, lookAtAll } from '../diagnostics/check.ts';
import { clusterChecks, machineChecks, portChecks, storeChecks } from '../diagnostics/machine-checks.ts';
import { addressChecks, certificateChecks, nameChecks } from '../diagnostics/name-checks.ts';
import { Visit } from '../diagnostics/test-tunnel.ts';
import { proxyChecks, tunnelChecks } from '../diagnostics/tunnel-checks.ts';
import { Dns } from '../domains/domain-check.ts';
import { describeError } from '../log.ts';
import { type GivenCommand, GivenOptions } from './admin-command.ts';
import { ExitCode, type Shell } from './command.ts';

/** Maximum of `--idle`, so that diagnostics end in reasonable time. */
const DIAGNOSIS_IDLE_MAX_SECONDS = 30 * 60;

const NAME_COLUMNS = 19;
const TIME_COLUMNS = 8;

/**
 * @returns 0 when nothing has failed, else 1
 * @throws CommandError
 */
export async function runDoctor(given: GivenCommand, shell: Shell): Promise<number> {
  const { config, json } = given;
  const idle = new GivenOptions(given).ttl('idle', DIAGNOSIS_IDLE_MAX_SECONDS);
  const visit = new Visit(config, shell.user);
  const idleMs = idle === undefined ? undefined : idle * 1000;
  const tunnel = tunnelChecks({ config, clock: systemClock, open: () => visit.open(), idleMs });
  const failed = await lookAtAll([...checksOf(config), ...tunnel], systemClock, (finding) => {
    for (const line of json ? [JSON.stringify(finding)] : lines(finding)) shell.out(line);
  });
  try {
    await visit.close();
  } catch (error) {
    shell.err(
      `culvert-relay: the test account could not be removed: ${describeError(error)}; the next run will remove it`,
    );
  }
  if (!json) shell.out(failed.length === 0 ? 'Everything works.' : `Failed: ${failed.join(', ')}.`);
  return failed.length === 0 ? ExitCode.ok : ExitCode.failed;
}

function checksOf(config: Config): Check[] {
  const { lookup } = new Dns(config.resolver);
  return [
    ...storeChecks(config, systemClock),
    ...clusterChecks(config, systemClock),
    ...machineChecks(config),
    ...portChecks(config),
    ...nameChecks(config, lookup),
    ...proxyChecks(config),
    ...certificateChecks(config, systemClock),
    ...addressChecks(config, lookup),
  ];
}

function lines({ check, result, ms, detail, fix }: Finding): string[] {
  const mark = { ok: '✓', failed: '✗', skipped: '-' }[result];
  const time = result === 'skipped' ? '' : `${ms} ms`;
  const line = `${mark} ${check.padEnd(NAME_COLUMNS)}${time.padStart(TIME_COLUMNS)}  ${detail}`;
  return fix === undefined ? [line] : [line, `  ${' '.repeat(NAME_COLUMNS + TIME_COLUMNS)}  ${fix}`];
}
