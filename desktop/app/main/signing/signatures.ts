/** Checks the signatures of recorded webhooks with the secrets of their tunnels, and makes new ones. */
import type { RequestEdit } from '../../../client/inspector/edit.ts';
import type { ImportedRequest } from '../../../client/inspector/imported.ts';
import type { RequestSummary } from '../../../client/inspector/records.ts';
import type { PrepareReplay } from '../../../client/inspector/replay.ts';
import { RECORDED_REQUESTS_MAX } from '../../../client/limits.ts';
import { checkSignature, signAgain } from '../../../client/signatures/check-signature.ts';
import { SCHEMES } from '../../../client/signatures/schemes.ts';
import { type SignatureView, WEBHOOK_PROVIDERS } from '../../../client/webhooks/provider.ts';
import type { NewSecret, SignatureCheck } from '../../ipc/request-views.ts';
import { t } from '../../messages/translate.ts';
import { CallFailure } from '../failure.ts';
import type { TunnelLog } from '../tunnels/engine-log.ts';
import type { SecretOwner, SigningSecrets } from './signing-secrets.ts';

/** A tunnel whose webhooks are checked. */
export interface SignedTunnel extends SecretOwner {
  readonly log: Pick<TunnelLog, 'detail' | 'replay' | 'replayEdited' | 'send'>;
}

/** What is known of the requests of one tunnel, by number, as long as no secret changes. */
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

  /** The requests, with what their signatures say. */
  checked(tunnel: SignedTunnel, requests: readonly RequestSummary[]): readonly RequestSummary[] {
    return requests.map((request) => {
      const signature = this.#view(tunnel, request);
      return signature === undefined ? request : { ...request, signature };
    });
  }

  /** What is known of the signature of one request; `undefined` for one that is not there, and for what is no webhook. */
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

  /** @throws CallFailure for what cannot be a secret of the service */
  async addSecret(tunnel: SignedTunnel, { provider, secret }: NewSecret): Promise<void> {
    const text = SCHEMES[provider].secretProblem(secret);
    if (text !== undefined) throw new CallFailure({ code: 'bad-secret', field: 'secret', text });
    await this.#secrets.add(tunnel, provider, secret);
  }

  /**
   * Makes a request once more, with a signature that its service would make now.
   *
   * @returns number of the new request
   * @throws ReplayRefused, CallFailure
   */
  replay(tunnel: SignedTunnel, id: number): Promise<number> {
    return tunnel.log.replay(id, this.#signer(tunnel, t('problem.noSecret')));
  }

  /**
   * Makes a request once more as somebody has edited it, with a signature for what it is now.
   *
   * @returns number of the new request
   * @throws ReplayRefused, EditRefused, CallFailure
   */
  replayEdited(tunnel: SignedTunnel, id: number, edit: RequestEdit): Promise<number> {
    return tunnel.log.replayEdited(id, edit, this.#signer(tunnel, t('problem.cannotSign')));
  }

  /**
   * Sends a request that was written down elsewhere: with a signature of now where the secret of its service is set, else as it is.
   *
   * @param host the Host that the local service gets
   * @returns its number
   * @throws ReplayRefused
   */
  send(tunnel: SignedTunnel, request: ImportedRequest, host: string): Promise<number> {
    return tunnel.log.send(request, host, (bytes) => this.#sign(tunnel, bytes) ?? bytes);
  }

  /** Signs with the newest secret, for now. @param unsigned says that there is nothing to sign with */
  #signer(tunnel: SignedTunnel, unsigned: string): PrepareReplay {
    return (request) => {
      const signed = this.#sign(tunnel, request);
      if (signed !== undefined) return signed;
      throw new CallFailure({ code: 'no-secret', text: unsigned });
    };
  }

  #sign(tunnel: SignedTunnel, request: Buffer): Buffer | undefined {
    return signAgain(request, (provider) => this.#secrets.of(tunnel, provider)[0], this.#now());
  }

  #view(tunnel: SignedTunnel, request: RequestSummary): SignatureView | undefined {
    const { id, durationMs, isBroken, webhook } = request;
    if (webhook === undefined) return undefined;
    const { views } = this.#knownOf(tunnel);
    if (views.has(id)) return views.get(id);
    const view = this.#check(tunnel, id);
    // Before its end, more of its body may come.
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
    const detail = tunnel.log.detail(id, true);
    return (
      detail &&
      checkSignature(detail.request, detail.startedAt, (provider) => this.#secrets.of(tunnel, provider))
    );
  }
}
