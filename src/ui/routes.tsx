import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { Frame } from './app/frame.tsx'
import { readChainSearch } from './pages/chain/chain-search.ts'
import { readChainsSearch } from './pages/chains/chains-search.ts'

const root = createRootRoute({ component: Frame })

const start = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => redirect({ to: '/chains', replace: true, throw: true }),
})

const chains = createRoute({
  getParentRoute: () => root,
  path: '/chains',
  validateSearch: readChainsSearch,
  component: lazyRouteComponent(() => import('./pages/chains/chains-page.tsx'), 'ChainsPage'),
})

const chain = createRoute({
  getParentRoute: () => root,
  path: '/chains/$chainId',
  validateSearch: readChainSearch,
  component: lazyRouteComponent(() => import('./pages/chain/chain-page.tsx'), 'ChainPage'),
})

export const router = createRouter({ routeTree: root.addChildren([start, chains, chain]), defaultPreload: 'intent' })

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
