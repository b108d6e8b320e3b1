import { useEffect, useState } from 'preact/hooks';

/** Whether a media query holds, now and whenever that changes. */
export function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const media = window.matchMedia(query);
    const tell = (): void => setHolds(media.matches);
    tell();
    media.addEventListener('change', tell);
    return () => media.removeEventListener('change', tell);
  }, [query]);
  return holds;
}
