import type { AccessView } from '../../shared/access.ts';

/** Addresses and users that are named; of more, only how many there are. */
const NAMED_MAX = 3;

/** @returns who may come in, such as `password or signed link, only from 10.0.0.0/8`; `undefined` for everybody */
export function describeAccess({
  allow = [],
  basic = [],
  password,
  links,
  knock,
}: AccessView): string | undefined {
  const ways = [
    ...(basic.length === 0 ? [] : [`login (${named(basic)})`]),
    ...(password === true ? ['password'] : []),
    ...(links === true ? ['signed link'] : []),
    ...(knock === true ? ['knock'] : []),
  ].join(' or ');
  if (allow.length === 0) return ways === '' ? undefined : ways;
  const from = `only from ${named(allow)}`;
  return ways === '' ? from : `${ways}, ${from}`;
}

function named(list: readonly string[]): string {
  const rest = list.length - NAMED_MAX;
  const first = list.slice(0, NAMED_MAX).join(', ');
  return rest > 0 ? `${first} and ${rest} more` : first;
}
