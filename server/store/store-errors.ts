/** How a store fails, and what a request is then told. */
import { API_ERRORS, ApiError } from '../../shared/errors.ts';

/** The `Retry-After` value in responses while the database cannot be reached. */
export const STORE_RETRY_AFTER_SECONDS = 1;
/**
 * Delay before the relay asks the database for the next signing key again after a failure; the previous key is
 * used until then.
 */
export const STORE_RETRY_MS = 10_000;

/** The database cannot be reached or fails. */
export class StoreError extends Error {
  constructor(cause: unknown) {
    super('the store failed', { cause });
    this.name = 'StoreError';
  }
}

/** A statement was sent and not answered: it may or may not have taken effect. The cause of a {@link StoreError}. */
export class UnansweredError extends Error {
  constructor(cause: unknown) {
    super('the database did not respond', { cause });
    this.name = 'UnansweredError';
  }
}

/** An account has as many tunnels or domains as it may have, or a tunnel as many links. */
export class FullError extends Error {
  /** wall time in ms at which the next of them expires */
  readonly nextEnd: number;
  /** Whether those are TCP tunnels, of which there may be fewer than of others. */
  readonly isTcp: boolean;

  constructor(nextEnd: number, isTcp = false) {
    super('there is no room for another one');
    this.name = 'FullError';
    this.nextEnd = nextEnd;
    this.isTcp = isTcp;
  }
}

/** Another record has this value already, or there is no such claim to a domain, or verification of it. */
export class ConflictError extends Error {
  readonly field: 'name' | 'subdomain' | 'key' | 'slug' | 'domain' | 'claim' | 'verification' | 'port';

  constructor(field: ConflictError['field']) {
    super(`the ${field} is taken or missing`);
    this.name = 'ConflictError';
    this.field = field;
  }
}

/**
 * Waits for the store on behalf of a request.
 *
 * @throws ApiError 503 with the failure as its cause when the store fails
 */
export async function orUnavailable<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const unavailable = new ApiError(API_ERRORS.unavailable, {
      'Retry-After': String(STORE_RETRY_AFTER_SECONDS),
    });
    unavailable.cause = error.cause;
    throw unavailable;
  }
}

/** Another relay has locked the database. */
export class DatabaseInUseError extends Error {
  /** @param option with which another database is chosen */
  constructor(database: string, option: string) {
    super(
      `another relay is using the database ${database}; stop that relay first, or use a different database with ${option}`,
    );
    this.name = 'DatabaseInUseError';
  }
}
