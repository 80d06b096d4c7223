import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { Frame } from './app/frame.tsx'
import { NotFound } from './app/not-found.tsx'
import { readChainSearch } from './pages/chain/chain-search.ts'
import { readChainsSearch } from './pages/chains/chains-search.ts'
import { readLoginSearch } from './pages/login/login-search.ts'
import { readPolicySearch } from './pages/policy/policy-search.ts'
import { readRetriesSearch } from './pages/retries/retries-search.ts'

const root = createRootRoute({ notFoundComponent: NotFound })

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: readLoginSearch,
  component: lazyRouteComponent(() => import('./pages/login/login-page.tsx'), 'LoginPage'),
})

const frame = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame })

const start = createRoute({
  getParentRoute: () => frame,
  path: '/',
  beforeLoad: () => redirect({ to: '/chains', replace: true, throw: true }),
})

const chains = createRoute({
  getParentRoute: () => frame,
  path: '/chains',
  validateSearch: readChainsSearch,
  component: lazyRouteComponent(() => import('./pages/chains/chains-page.tsx'), 'ChainsPage'),
})

const chain = createRoute({
  getParentRoute: () => frame,
  path: '/chains/$chainId',
  validateSearch: readChainSearch,
  component: lazyRouteComponent(() => import('./pages/chain/chain-page.tsx'), 'ChainPage'),
})

const policy = createRoute({
  getParentRoute: () => frame,
  path: '/policy',
  validateSearch: readPolicySearch,
  component: lazyRouteComponent(() => import('./pages/policy/policy-page.tsx'), 'PolicyPage'),
})

const retries = createRoute({
  getParentRoute: () => frame,
  path: '/retries',
  validateSearch: readRetriesSearch,
  component: lazyRouteComponent(() => import('./pages/retries/retries-page.tsx'), 'RetriesPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([login, frame.addChildren([start, chains, chain, retries, policy])]),
  defaultPreload: 'intent',
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
