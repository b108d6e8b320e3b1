/** Names that an account keeps while a tunnel of this program has them, and after it. */
import { API_ERRORS } from '../../../shared/errors.ts';
import { parseDuration } from '../../../shared/duration.ts';
import type { KeptName } from '../../../shared/names.ts';
import type { KeepWish } from '../config/tunnel-spec.ts';
import type { ApiClient } from '../relay/api-client.ts';
import { NamesUnsupported, RelayRefusal } from '../relay/errors.ts';

/**
 * Keeps a name, with its message if one is wanted.
 *
 * @throws NamesUnsupported; RelayRefusal, for example if the plan does not allow another name
 */
export async function keepName(
  api: Pick<ApiClient, 'keepName' | 'changeName'>,
  name: string,
  { away }: KeepWish,
): Promise<void> {
  try {
    const kept = await api.keepName(name);
    if (away !== undefined && away !== kept.away) await api.changeName(name, { away });
  } catch (error) {
    const isUnknown = error instanceof RelayRefusal && error.is(API_ERRORS.notFound);
    throw isUnknown ? new NamesUnsupported() : error;
  }
}

/**
 * The name of a tunnel as the account keeps it.
 *
 * @returns `null` if the account does not keep it; `undefined` if the relay does not say
 */
export async function findKeptName(
  api: Pick<ApiClient, 'listNames'>,
  name: string,
): Promise<KeptName | null | undefined> {
  try {
    const names = await api.listNames();
    return names.find((kept) => kept.name === name) ?? null;
  } catch {
    return undefined;
  }
}

/** @returns how long the name of a tunnel that ends now stays reserved, in ms; `undefined` if the relay does not say */
export async function findNameHold(api: Pick<ApiClient, 'getAccount'>): Promise<number | undefined> {
  try {
    const { name_hold } = (await api.getAccount()).limits;
    const seconds = name_hold === undefined ? undefined : parseDuration(name_hold);
    return seconds === undefined ? undefined : seconds * 1000;
  } catch {
    return undefined;
  }
}
