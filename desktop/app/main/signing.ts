/**
 * Secrets with which services sign their webhooks; with them, signatures are checked and created. No secret leaves
 * main.
 */
import { randomUUID } from 'node:crypto';
import * as yup from 'yup';
import {
  type RequestSummary,
  type SignatureView,
  WEBHOOK_PROVIDER_IDS,
  WEBHOOK_PROVIDERS,
  type WebhookProvider,
} from '../../client/inspector/records.ts';
import type { PrepareReplay } from '../../client/inspector/replay.ts';
import { checkSignature, SCHEMES, signAgain } from '../../client/inspector/signatures.ts';
import type { NewSecret, SecretView, SignatureCheck } from '../ipc/request-views.ts';
import type { KeyKept } from '../ipc/snapshot.ts';
import { t } from '../messages/translate.ts';
import { CallFailure } from './failure.ts';
import type { KeyVault } from './settings/key-vault.ts';
import { RECORDED_REQUESTS_MAX, type RequestLog } from '../../client/inspector/request-log.ts';
import { toMessage } from '../../client/messages.ts';
import { CallRefused } from '../../client/methods/method.ts';

/**
 * Maximum number of signing secrets that a tunnel can have for one service: the one in use, and others as long
 * as they are replaced.
 */
export const SIGNING_SECRETS_MAX = 4;

/** Secrets belong to the name of a tunnel, or to its key if it has none. */
interface SecretOwner {
  readonly key: string;
  /** chosen by its user; `undefined` for a random one */
  readonly name: string | undefined;
}

const secretSchema = yup
  .object({
    id: yup.string().required(),
    owner: yup.string().required(),
    provider: yup.string().oneOf(WEBHOOK_PROVIDER_IDS).required(),
    secret: yup.string().required(),
    addedAt: yup.number().required(),
  })
  .required();
type Kept = yup.InferType<typeof secretSchema>;
const fileSchema = yup.array(secretSchema).required();

interface SigningSecretsOptions {
  readonly vault: Pick<KeyVault, 'load' | 'keep' | 'forget'>;
  /** wall-clock ms */
  readonly now: () => number;
  /** whether the user wants secrets to be stored; never in plain */
  readonly wish: () => Exclude<KeyKept, 'file'>;
}

export class SigningSecrets {
  readonly #options: SigningSecretsOptions;
  /** newest first */
  #secrets: readonly Kept[];
  #isKept: boolean;
  #revision = 0;

  private constructor(options: SigningSecretsOptions, secrets: readonly Kept[], isKept: boolean) {
    this.#options = options;
    this.#secrets = secrets;
    this.#isKept = isKept;
  }

  /** Reads the stored secrets that belong to a name or to one of these tunnels. */
  static async open(
    options: SigningSecretsOptions,
    tunnels: readonly Pick<SecretOwner, 'key'>[],
  ): Promise<SigningSecrets> {
    const saved = await options.vault.load();
    const keys = new Set(tunnels.map(({ key }) => ownerOfKey(key)));
    const secrets = read(saved?.key ?? '[]').filter(({ owner }) => owner.startsWith(NAME) || keys.has(owner));
    return new SigningSecrets(options, secrets, saved !== undefined);
  }

  /** Grows with each change. */
  get revision(): number {
    return this.#revision;
  }

  /** Whether they survive a quit of the app. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** newest first */
  of(tunnel: SecretOwner, provider: WebhookProvider): readonly string[] {
    return this.#find(tunnel, provider).map(({ secret }) => secret);
  }

  /** newest first */
  views(tunnel: SecretOwner, provider: WebhookProvider): readonly SecretView[] {
    return this.#find(tunnel, provider).map(({ id, addedAt }) => ({ id, addedAt }));
  }

  /**
   * Takes effect immediately; resolves when it is on disk. A secret that exists becomes the newest. @throws CallFailure
   */
  async add(tunnel: SecretOwner, provider: WebhookProvider, secret: string): Promise<void> {
    const owner = ownerOf(tunnel);
    const isSame = (other: Kept): boolean =>
      other.owner === owner && other.provider === provider && other.secret === secret;
    const others = this.#secrets.filter((other) => !isSame(other));
    if (
      others.filter((other) => other.owner === owner && other.provider === provider).length >=
      SIGNING_SECRETS_MAX
    ) {
      throw new CallFailure({
        code: 'too-many-secrets',
        field: 'secret',
        text: t('problem.tooManySecrets', { max: SIGNING_SECRETS_MAX }),
      });
    }
    await this.#keep([
      { id: randomUUID(), owner, provider, secret, addedAt: this.#options.now() },
      ...others,
    ]);
  }

  /** Takes effect immediately; resolves when it is on disk. */
  async remove(tunnel: SecretOwner, id: string): Promise<void> {
    const owner = ownerOf(tunnel);
    await this.#keep(this.#secrets.filter((other) => other.id !== id || other.owner !== owner));
  }

  /** Forgets all of them. @returns a function that restores them, instead of later ones */
  async setAside(): Promise<() => Promise<void>> {
    const before = this.#secrets;
    await this.#keep([]);
    return () => this.#keep(before);
  }

  #find(tunnel: SecretOwner, provider: WebhookProvider): readonly Kept[] {
    const owner = ownerOf(tunnel);
    return this.#secrets.filter((other) => other.owner === owner && other.provider === provider);
  }

  async #keep(secrets: readonly Kept[]): Promise<void> {
    const { vault, wish } = this.#options;
    this.#secrets = secrets;
    this.#revision += 1;
    if (secrets.length === 0) await vault.forget();
    else this.#isKept = (await vault.keep(JSON.stringify(secrets), wish())) === 'system';
  }
}

const NAME = 'name ';

function ownerOf({ key, name }: SecretOwner): string {
  return name === undefined ? ownerOfKey(key) : `${NAME}${name}`;
}

function ownerOfKey(key: string): string {
  return `key ${key}`;
}

function read(text: string): readonly Kept[] {
  try {
    return fileSchema.validateSync(JSON.parse(text));
  } catch {
    return [];
  }
}

/* Signatures of recorded webhooks. */

/** A tunnel whose webhooks are checked. */
interface SignedTunnel extends SecretOwner {
  readonly log: Pick<RequestLog, 'detail'>;
}

/** Results for the requests of one tunnel, by number, valid for one revision of the secrets. */
interface Known {
  readonly revision: number;
  readonly views: Map<number, SignatureView | undefined>;
}

export class Signatures {
  readonly #secrets: SigningSecrets;
  readonly #now: () => number;
  readonly #known = new WeakMap<SignedTunnel, Known>();

  /** @param now wall-clock ms */
  constructor(secrets: SigningSecrets, now: () => number) {
    this.#secrets = secrets;
    this.#now = now;
  }

  /** Adds the result of the check to each request. */
  checked(tunnel: SignedTunnel, requests: readonly RequestSummary[]): readonly RequestSummary[] {
    return requests.map((request) => {
      const signature = this.#view(tunnel, request);
      return signature === undefined ? request : { ...request, signature };
    });
  }

  /** Checks the signature of one request; `undefined` if it is gone or no webhook. */
  look(tunnel: SignedTunnel, id: number): SignatureCheck | undefined {
    const signature = this.#check(tunnel, id);
    if (signature === undefined) return undefined;
    return {
      signature,
      name: WEBHOOK_PROVIDERS[signature.provider],
      secrets: this.#secrets.views(tunnel, signature.provider),
      isKept: this.#secrets.isKept,
    };
  }

  /** @throws CallFailure if it cannot be a secret of the service */
  async addSecret(tunnel: SignedTunnel, { provider, secret }: NewSecret): Promise<void> {
    const text = SCHEMES[provider].secretProblem(secret);
    if (text !== undefined) throw new CallFailure({ code: 'bad-secret', field: 'secret', text });
    await this.#secrets.add(tunnel, provider, secret);
  }

  /** Signs a request as its service would now, with the newest secret; that throws a CallRefused without one. */
  signer(tunnel: SignedTunnel, isEdited: boolean): PrepareReplay {
    return (request) => {
      const signed = signAgain(request, (provider) => this.#secrets.of(tunnel, provider)[0], this.#now());
      if (signed !== undefined) return signed;
      throw new CallRefused('no-secret', toMessage(isEdited ? 'replay.cannotSign' : 'replay.noSecret'));
    };
  }

  #view(tunnel: SignedTunnel, request: RequestSummary): SignatureView | undefined {
    const { id, durationMs, isBroken, webhook } = request;
    if (webhook === undefined) return undefined;
    const { views } = this.#knownOf(tunnel);
    if (views.has(id)) return views.get(id);
    const view = this.#check(tunnel, id);
    // Until it ends, its body may grow.
    if (durationMs === undefined && !isBroken) return view;
    views.set(id, view);
    const [oldest] = views.keys();
    if (views.size > RECORDED_REQUESTS_MAX && oldest !== undefined) views.delete(oldest);
    return view;
  }

  #knownOf(tunnel: SignedTunnel): Known {
    const known = this.#known.get(tunnel);
    const { revision } = this.#secrets;
    if (known?.revision === revision) return known;
    const fresh = { revision, views: new Map<number, SignatureView | undefined>() };
    this.#known.set(tunnel, fresh);
    return fresh;
  }

  #check(tunnel: SignedTunnel, id: number): SignatureView | undefined {
    const detail = tunnel.log.detail(id, { reveal: true });
    return (
      detail &&
      checkSignature(detail.request, detail.startedAt, (provider) => this.#secrets.of(tunnel, provider))
    );
  }
}
