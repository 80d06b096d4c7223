import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { Frame } from './app/frame/frame.tsx'
import { searchReader } from './app/list/search.ts'
import { NotFound } from './app/page.tsx'
import { readChainSearch } from './pages/chain/chain-search.ts'
import { readPolicySearch } from './pages/policy/policy-search.ts'

const root = createRootRoute({ notFoundComponent: NotFound })

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: readLoginSearch,
  component: lazyRouteComponent(() => import('./pages/login-page.tsx'), 'LoginPage'),
})

const frame = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame })

const overview = createRoute({
  getParentRoute: () => frame,
  path: '/',
  validateSearch: searchReader('overview'),
  component: lazyRouteComponent(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage'),
})

const chains = createRoute({
  getParentRoute: () => frame,
  path: '/chains',
  validateSearch: searchReader('chains'),
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
  validateSearch: searchReader('retries'),
  component: lazyRouteComponent(() => import('./pages/retries/retries-page.tsx'), 'RetriesPage'),
})

const failures = createRoute({
  getParentRoute: () => frame,
  path: '/failures',
  validateSearch: searchReader('failures'),
  component: lazyRouteComponent(() => import('./pages/failures/failures-page.tsx'), 'FailuresPage'),
})

const agents = createRoute({
  getParentRoute: () => frame,
  path: '/agents',
  validateSearch: searchReader('agents'),
  component: lazyRouteComponent(() => import('./pages/agents/agents-page.tsx'), 'AgentsPage'),
})

const agent = createRoute({
  getParentRoute: () => frame,
  path: '/agents/$agentId',
  component: lazyRouteComponent(() => import('./pages/agents/agent-page.tsx'), 'AgentPage'),
})

const deployments = createRoute({
  getParentRoute: () => frame,
  path: '/deployments',
  validateSearch: searchReader('deployments'),
  component: lazyRouteComponent(() => import('./pages/deployments/deployments-page.tsx'), 'DeploymentsPage'),
})

const deployment = createRoute({
  getParentRoute: () => frame,
  path: '/deployments/$deploymentId',
  component: lazyRouteComponent(() => import('./pages/deployments/deployment-page.tsx'), 'DeploymentPage'),
})

const schedules = createRoute({
  getParentRoute: () => frame,
  path: '/schedules',
  validateSearch: searchReader('schedules'),
  component: lazyRouteComponent(() => import('./pages/schedules/schedules-page.tsx'), 'SchedulesPage'),
})

const newSchedule = createRoute({
  getParentRoute: () => frame,
  path: '/schedules/new',
  validateSearch: searchReader('newSession'),
  component: lazyRouteComponent(() => import('./pages/new-session/new-session-page.tsx'), 'NewSchedulePage'),
})

const schedule = createRoute({
  getParentRoute: () => frame,
  path: '/schedules/$scheduleId',
  component: lazyRouteComponent(() => import('./pages/schedules/schedule-page.tsx'), 'SchedulePage'),
})

const sessions = createRoute({
  getParentRoute: () => frame,
  path: '/sessions',
  validateSearch: searchReader('sessions'),
  component: lazyRouteComponent(() => import('./pages/sessions/sessions-page.tsx'), 'SessionsPage'),
})

const session = createRoute({
  getParentRoute: () => frame,
  path: '/sessions/$sessionId',
  component: lazyRouteComponent(() => import('./pages/sessions/session-page.tsx'), 'SessionPage'),
})

const newSession = createRoute({
  getParentRoute: () => frame,
  path: '/chains/new',
  validateSearch: searchReader('newSession'),
  component: lazyRouteComponent(() => import('./pages/new-session/new-session-page.tsx'), 'NewSessionPage'),
})

const resubmissions = createRoute({
  getParentRoute: () => frame,
  path: '/resubmissions',
  validateSearch: searchReader('resubmissions'),
  component: lazyRouteComponent(() => import('./pages/resubmissions/resubmissions-page.tsx'), 'ResubmissionsPage'),
})

const resubmission = createRoute({
  getParentRoute: () => frame,
  path: '/resubmissions/$resubmissionId',
  validateSearch: searchReader('resubmission'),
  component: lazyRouteComponent(() => import('./pages/resubmissions/resubmission-page.tsx'), 'ResubmissionPage'),
})

const readSettingsSearch = searchReader('settings')

const settings = createRoute({
  getParentRoute: () => frame,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
})

const settingsStart = createRoute({
  getParentRoute: () => settings,
  path: '/',
  validateSearch: readSettingsSearch,
  beforeLoad: ({ search: { project } }) =>
    redirect({ to: '/settings/switches', search: { project }, replace: true, throw: true }),
})

const switchesSection = createRoute({
  getParentRoute: () => settings,
  path: 'switches',
  validateSearch: readSettingsSearch,
  component: lazyRouteComponent(() => import('./pages/settings/switches-section.tsx'), 'SwitchesSection'),
})

const defaultsSection = createRoute({
  getParentRoute: () => settings,
  path: 'defaults',
  validateSearch: readSettingsSearch,
  component: lazyRouteComponent(() => import('./pages/settings/defaults-section.tsx'), 'DefaultsSection'),
})

const quotasSection = createRoute({
  getParentRoute: () => settings,
  path: 'quotas',
  validateSearch: readSettingsSearch,
  component: lazyRouteComponent(() => import('./pages/settings/quotas-section.tsx'), 'QuotasSection'),
})

const webhooksSection = createRoute({
  getParentRoute: () => settings,
  path: 'webhooks',
  validateSearch: readSettingsSearch,
  component: lazyRouteComponent(() => import('./pages/settings/webhooks-section.tsx'), 'WebhooksSection'),
})

const webhookSection = createRoute({
  getParentRoute: () => settings,
  path: 'webhooks/$webhookId',
  validateSearch: searchReader('webhook'),
  component: lazyRouteComponent(() => import('./pages/settings/webhook-section.tsx'), 'WebhookSection'),
})

const membersSection = createRoute({
  getParentRoute: () => settings,
  path: 'members',
  validateSearch: readSettingsSearch,
  component: lazyRouteComponent(() => import('./pages/settings/members-section.tsx'), 'MembersSection'),
})

const tokensSection = createRoute({
  getParentRoute: () => settings,
  path: 'tokens',
  validateSearch: searchReader('tokens'),
  component: lazyRouteComponent(() => import('./pages/settings/tokens-section.tsx'), 'TokensSection'),
})

const auditSection = createRoute({
  getParentRoute: () => settings,
  path: 'audit',
  validateSearch: searchReader('audit'),
  component: lazyRouteComponent(() => import('./pages/settings/audit-section.tsx'), 'AuditSection'),
})

/** Any other path. */
const unknown = createRoute({ getParentRoute: () => frame, path: '$', component: NotFound })

/**
 * The path to open after the login, which must be a path of this server. Any other value is set to undefined, as the
 * router keeps missing parameters.
 */
function readLoginSearch({ to }: Record<string, unknown>): { to?: string } {
  const isPath = typeof to === 'string' && /^\/(?![/\\])/.test(to) && !to.startsWith('/login')
  return { to: isPath ? to : undefined }
}

export const router = createRouter({
  routeTree: root.addChildren([
    login,
    frame.addChildren([
      overview,
      chains,
      chain,
      newSession,
      retries,
      failures,
      agents,
      agent,
      deployments,
      deployment,
      schedules,
      newSchedule,
      schedule,
      sessions,
      session,
      resubmissions,
      resubmission,
      policy,
      settings.addChildren([
        settingsStart,
        switchesSection,
        defaultsSection,
        quotasSection,
        webhooksSection,
        webhookSection,
        membersSection,
        tokensSection,
        auditSection,
      ]),
      unknown,
    ]),
  ]),
  defaultPreload: 'intent',
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
