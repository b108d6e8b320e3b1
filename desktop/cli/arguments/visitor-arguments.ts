/** The command lines about who comes into a tunnel, and by which address: `culvert access`, `link`, `knock` and `domain`. */
import { readDomain } from '../../../shared/domain-rules.ts';
import { LINK_NOTE_RULE, LINK_PATH_RULE } from '../../../shared/link-rules.ts';
import { TTL_RULE } from '../../../shared/value-rules.ts';
import { type AccessOptions, readAccessOptions } from '../access-options.ts';
import { UsageError } from '../usage-error.ts';
import type { CommandLine } from './command-line.ts';
import type { DomainCommand, KnockCommand, LinkCommand } from './commands.ts';
import { readOption, type Values } from './parse.ts';

/**
 * @returns who shall come in; `undefined` where it is only asked for
 * @throws UsageError
 */
export function readWanted(values: Values): AccessOptions | undefined {
  const { auth, password, allow, links, knock, open } = values;
  const isGiven = [auth, password, allow, links, knock].some((value) => value !== undefined);
  if (isGiven && open === true)
    throw new UsageError('--open lets in everybody, so it takes no other of these options.');
  return isGiven || open === true ? readAccessOptions(values) : undefined;
}

/** @throws UsageError */
export function readLinkAction(line: CommandLine): LinkCommand['action'] {
  const { revoke, note, path } = line.values;
  const ttl = line.ttl();
  if (revoke === undefined) {
    const link = {
      ...(ttl === undefined ? {} : { ttl }),
      ...(note === undefined ? {} : { note: readOption('note', note, LINK_NOTE_RULE) }),
      ...(path === undefined ? {} : { path: readOption('path', path, LINK_PATH_RULE) }),
    };
    return { name: 'make', tunnel: line.tunnelName(), link };
  }
  line.atMost(0);
  if ([ttl, note, path].some((value) => value !== undefined))
    throw new UsageError('--revoke ends a link that is there, so it takes no --ttl, --note and --path.');
  if (!/^[0-9a-f]{16}$/.test(revoke))
    throw new UsageError(`--revoke "${revoke}": it takes the id of a link, as "culvert links" shows it.`);
  return { name: 'revoke', link: revoke };
}

/** @throws UsageError */
export function readKnock(line: CommandLine): KnockCommand {
  line.atMost(2);
  const [tunnel = '', knock = ''] = line.operands;
  const { admit = false, refuse = false, for: duration } = line.values;
  if (tunnel === '' || knock === '')
    throw new UsageError('Say which tunnel and which knock, as "culvert http --knock" shows them.');
  if (admit === refuse) throw new UsageError('Say what to do: --admit or --refuse.');
  if (refuse && duration !== undefined) throw new UsageError('--for is for --admit.');
  return {
    command: 'knock',
    tunnel,
    knock,
    admit,
    duration: readOption('for', duration, TTL_RULE),
    ...line.access(),
  };
}

/** @throws UsageError */
export function readDomainAction(line: CommandLine): DomainCommand['action'] {
  line.atMost(2);
  const [name = 'list', domain = ''] = line.operands;
  if (name === 'list') {
    line.atMost(1);
    return { name };
  }
  if (name !== 'add' && name !== 'verify' && name !== 'remove')
    throw new UsageError(`"${name}" is nothing that is done with domains: list, add, verify or remove.`);
  if (domain === '') throw new UsageError('Say which domain, such as app.example.com.');
  const reading = readDomain(domain);
  if (name === 'add' && 'problem' in reading)
    throw new UsageError(`"${domain}": the domain ${reading.problem}.`);
  return { name, domain };
}
