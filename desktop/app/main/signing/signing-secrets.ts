/** Secrets with which services sign their webhooks, as they were set for tunnels. None of them leaves main. */
import { randomUUID } from 'node:crypto';
import * as yup from 'yup';
import { WEBHOOK_PROVIDER_IDS, type WebhookProvider } from '../../../client/webhooks/provider.ts';
import type { SecretView } from '../../ipc/request-views.ts';
import type { KeyKept } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { CallFailure } from '../failure.ts';
import { SIGNING_SECRETS_MAX } from '../limits.ts';
import type { SecretVault } from '../tunnels/access.ts';

/** A tunnel, as far as its secrets are found by it: those of a name are there again when the name is. */
export interface SecretOwner {
  readonly key: string;
  readonly form: { readonly name: string };
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

export interface SigningSecretsOptions {
  readonly vault: SecretVault;
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

  /** Reads what is stored, but for what belongs to none of these tunnels, and to no name. */
  static async open(
    options: SigningSecretsOptions,
    tunnels: readonly Pick<SecretOwner, 'key'>[],
  ): Promise<SigningSecrets> {
    const saved = await options.vault.load();
    const keys = new Set(tunnels.map(({ key }) => ownerOfKey(key)));
    const secrets = read(saved?.key ?? '[]').filter(({ owner }) => owner.startsWith(NAME) || keys.has(owner));
    return new SigningSecrets(options, secrets, saved !== undefined);
  }

  /** Counts up with each change. */
  get revision(): number {
    return this.#revision;
  }

  /** Whether they are there again after the app has quit. */
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

  /** Takes effect at once; resolves when it is on disk. One that is there already becomes the newest. @throws CallFailure */
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

  /** Takes effect at once; resolves when it is on disk. */
  async remove(tunnel: SecretOwner, id: string): Promise<void> {
    const owner = ownerOf(tunnel);
    await this.#keep(this.#secrets.filter((other) => other.id !== id || other.owner !== owner));
  }

  /** Forgets all of them. @returns what gives them back, in place of those that were set since */
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

function ownerOf({ key, form }: SecretOwner): string {
  return form.name === '' ? ownerOfKey(key) : `${NAME}${form.name}`;
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
