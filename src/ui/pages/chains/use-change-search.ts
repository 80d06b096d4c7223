import { useNavigate } from '@tanstack/react-router'
import type { ChainsSearch } from './chains-search.ts'

/** Changes the address: what is undefined is left out of it. */
export function useChangeSearch(): (change: Partial<ChainsSearch>) => void {
  const navigate = useNavigate()
  return (change) =>
    void navigate({ to: '/chains', search: (before) => ({ ...before, dropped: undefined, ...change }), replace: true })
}
