#include "bench/replay_spaces.hpp"
#include "search/replay.hpp"
#include <cstdio>
#include <cstdlib>
#include <cmath>
using namespace attune;
int main(int argc,char**argv){
  const int seeds=atoi(argv[1]), trials=atoi(argv[2]);
  for(int i=3;i<argc;++i){
    auto t=bench::load_table(argv[i]); if(!t){fprintf(stderr,"%s\n",t.err().text().c_str());return 1;}
    for(int s=1;s<=seeds;++s){
      search::replay_options o; o.trials=trials;o.seed=s;
      o.first={t->table.over->standard()};
      auto r=search::replay(t->table,"auto",o);
      printf("%s %d %.9g",t->name.c_str(),s,t->table.optimum());
      for(double b:r->best) printf(" %.7g",b);
      printf("\n"); fflush(stdout);
    }
  }
}
