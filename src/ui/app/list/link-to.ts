import { useRouter, type NavigateOptions } from '@tanstack/react-router'
import type { MouseEvent } from 'react'

export interface LinkTo {
  href: string
  onClick: (event: MouseEvent) => void
}

/** Where drawings lead to, which do not know the router. */
export function useLinkTo(): (to: NavigateOptions) => LinkTo {
  const router = useRouter()
  return (to) => ({
    href: router.buildLocation(to as never).href,
    onClick(event) {
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
      event.preventDefault()
      void router.navigate(to as never)
    },
  })
}
