/** Names a request to its client and in the log, so that the two can be matched. */
export const REQUEST_ID_FIELD = 'X-Request-Id';
