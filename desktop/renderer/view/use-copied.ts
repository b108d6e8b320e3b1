import { useCallback, useEffect, useState } from 'preact/hooks';

/** How long a button says that it has copied. */
const COPIED_MS = 2000;

/** Whether something was copied a moment ago. */
export function useCopied(): { readonly isCopied: boolean; readonly setCopied: () => void } {
  const [isCopied, set] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = window.setTimeout(() => set(false), COPIED_MS);
    return () => window.clearTimeout(timer);
  }, [isCopied]);
  const setCopied = useCallback(() => set(true), []);
  return { isCopied, setCopied };
}
