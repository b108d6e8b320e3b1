/** Signed links to a tunnel, as the REST interface has them (docs/protocol.md section 11.2). */

/** @limit Characters of a note. */
export const LINK_NOTE_MAX_LENGTH = 64;
/** @limit Characters of a path. */
export const LINK_PATH_MAX_LENGTH = 1024;
/** @limit s for which a link is good where its owner says nothing. */
export const LINK_DEFAULT_TTL_SECONDS = 24 * 3600;
/** @limit The most s for which a link is good. */
export const LINK_MAX_TTL_SECONDS = 30 * 24 * 3600;

/** What the query of a link's address has, and no local service ever sees. */
export const LINK_PARAMETER = 'culvert_pass';

/** A link as it is listed. */
export interface Link {
  /** 16 hexadecimal digits */
  id: string;
  /** what its owner has called it; may be empty */
  note: string;
  /** where it leads below the tunnel's address; the tunnel's start page without */
  path?: string;
  /** RFC 3339, UTC */
  created_at: string;
  /** RFC 3339, UTC */
  expires_at: string;
}

/** A link that was just made: the only time that its address is shown. */
export interface NewLink extends Link {
  url: string;
}

/** The create request, read. */
export interface CreateLink {
  /** s */
  ttl: number;
  note: string;
  path: string | undefined;
}
