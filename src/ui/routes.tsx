import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { Frame } from './app/frame/frame.tsx'
import { NotFound } from './app/frame/not-found.tsx'
import { readAgentsSearch } from './pages/agents/agents-search.ts'
import { readChainSearch } from './pages/chain/chain-search.ts'
import { readChainsSearch } from './pages/chains/chains-search.ts'
import { readDeploymentsSearch } from './pages/deployments/deployments-search.ts'
import { readFailuresSearch } from './pages/failures/failures-search.ts'
import { readLoginSearch } from './pages/login/login-search.ts'
import { readOverviewSearch } from './pages/overview/overview-search.ts'
import { readNewSessionSearch } from './pages/new-session/new-session-search.ts'
import { readPolicySearch } from './pages/policy/policy-search.ts'
import { readResubmissionSearch } from './pages/resubmission/resubmission-search.ts'
import { readResubmissionsSearch } from './pages/resubmissions/resubmissions-search.ts'
import { readRetriesSearch } from './pages/retries/retries-search.ts'
import {
  readAuditSearch,
  readProjectSearch,
  readTokensSearch,
  readWebhookSearch,
} from './pages/settings/settings-search.ts'
import { readSchedulesSearch } from './pages/schedules/schedules-search.ts'
import { readSessionsSearch } from './pages/sessions/sessions-search.ts'

const root = createRootRoute({ notFoundComponent: NotFound })

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: readLoginSearch,
  component: lazyRouteComponent(() => import('./pages/login/login-page.tsx'), 'LoginPage'),
})

const frame = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame })

const overview = createRoute({
  getParentRoute: () => frame,
  path: '/',
  validateSearch: readOverviewSearch,
  component: lazyRouteComponent(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage'),
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

const failures = createRoute({
  getParentRoute: () => frame,
  path: '/failures',
  validateSearch: readFailuresSearch,
  component: lazyRouteComponent(() => import('./pages/failures/failures-page.tsx'), 'FailuresPage'),
})

const agents = createRoute({
  getParentRoute: () => frame,
  path: '/agents',
  validateSearch: readAgentsSearch,
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
  validateSearch: readDeploymentsSearch,
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
  validateSearch: readSchedulesSearch,
  component: lazyRouteComponent(() => import('./pages/schedules/schedules-page.tsx'), 'SchedulesPage'),
})

const newSchedule = createRoute({
  getParentRoute: () => frame,
  path: '/schedules/new',
  validateSearch: readNewSessionSearch,
  component: lazyRouteComponent(() => import('./pages/new-session/new-schedule-page.tsx'), 'NewSchedulePage'),
})

const schedule = createRoute({
  getParentRoute: () => frame,
  path: '/schedules/$scheduleId',
  component: lazyRouteComponent(() => import('./pages/schedules/schedule-page.tsx'), 'SchedulePage'),
})

const sessions = createRoute({
  getParentRoute: () => frame,
  path: '/sessions',
  validateSearch: readSessionsSearch,
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
  validateSearch: readNewSessionSearch,
  component: lazyRouteComponent(() => import('./pages/new-session/new-session-page.tsx'), 'NewSessionPage'),
})

const resubmissions = createRoute({
  getParentRoute: () => frame,
  path: '/resubmissions',
  validateSearch: readResubmissionsSearch,
  component: lazyRouteComponent(() => import('./pages/resubmissions/resubmissions-page.tsx'), 'ResubmissionsPage'),
})

const resubmission = createRoute({
  getParentRoute: () => frame,
  path: '/resubmissions/$resubmissionId',
  validateSearch: readResubmissionSearch,
  component: lazyRouteComponent(() => import('./pages/resubmission/resubmission-page.tsx'), 'ResubmissionPage'),
})

const settings = createRoute({
  getParentRoute: () => frame,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
})

const settingsStart = createRoute({
  getParentRoute: () => settings,
  path: '/',
  validateSearch: readProjectSearch,
  beforeLoad: ({ search: { project } }) =>
    redirect({ to: '/settings/switches', search: { project }, replace: true, throw: true }),
})

const switchesSection = createRoute({
  getParentRoute: () => settings,
  path: 'switches',
  validateSearch: readProjectSearch,
  component: lazyRouteComponent(() => import('./pages/settings/switches/switches-section.tsx'), 'SwitchesSection'),
})

const defaultsSection = createRoute({
  getParentRoute: () => settings,
  path: 'defaults',
  validateSearch: readProjectSearch,
  component: lazyRouteComponent(() => import('./pages/settings/defaults/defaults-section.tsx'), 'DefaultsSection'),
})

const quotasSection = createRoute({
  getParentRoute: () => settings,
  path: 'quotas',
  validateSearch: readProjectSearch,
  component: lazyRouteComponent(() => import('./pages/settings/quotas/quotas-section.tsx'), 'QuotasSection'),
})

const webhooksSection = createRoute({
  getParentRoute: () => settings,
  path: 'webhooks',
  validateSearch: readProjectSearch,
  component: lazyRouteComponent(() => import('./pages/settings/webhooks/webhooks-section.tsx'), 'WebhooksSection'),
})

const webhookSection = createRoute({
  getParentRoute: () => settings,
  path: 'webhooks/$webhookId',
  validateSearch: readWebhookSearch,
  component: lazyRouteComponent(() => import('./pages/settings/webhooks/webhook-section.tsx'), 'WebhookSection'),
})

const membersSection = createRoute({
  getParentRoute: () => settings,
  path: 'members',
  validateSearch: readProjectSearch,
  component: lazyRouteComponent(() => import('./pages/settings/members/members-section.tsx'), 'MembersSection'),
})

const tokensSection = createRoute({
  getParentRoute: () => settings,
  path: 'tokens',
  validateSearch: readTokensSearch,
  component: lazyRouteComponent(() => import('./pages/settings/tokens/tokens-section.tsx'), 'TokensSection'),
})

const auditSection = createRoute({
  getParentRoute: () => settings,
  path: 'audit',
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import('./pages/settings/audit/audit-section.tsx'), 'AuditSection'),
})

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
    ]),
  ]),
  defaultPreload: 'intent',
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
